# syntax=docker/dockerfile:1.7
# One image for every process; compose.yaml says what each one runs.

FROM node:24-bookworm-slim AS page
WORKDIR /page
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend/ ./
RUN npm run build

FROM python:3.11-slim-bookworm AS dependencies
COPY --from=ghcr.io/astral-sh/uv:0.9 /uv /usr/local/bin/uv
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
WORKDIR /build
COPY pyproject.toml uv.lock README.md ./
# First what others wrote, so that a change of our own code does not fetch it again.
RUN uv sync --frozen --no-dev --extra server --extra s3 --extra traces --no-install-project

FROM dependencies AS documentation
RUN uv sync --frozen --no-dev --group docs --extra server --extra s3 --extra traces --no-install-project
COPY backend/ backend/
COPY docs/ docs/
COPY tests/ tests/
COPY examples/ examples/
COPY frontend/openapi.json frontend/openapi.json
ENV PYTHONPATH=/build/backend
RUN .venv/bin/sphinx-build -q -b html docs docs/_build/html

FROM dependencies AS packages
COPY .ci/wheel_contents.py .ci/wheel_contents.py
COPY CHANGELOG.md ./
COPY backend/ backend/
COPY workers/ workers/
COPY migrations/ migrations/
COPY --from=page /page/dist frontend/dist
COPY --from=documentation /build/docs/_build/html docs/_build/html
RUN uv sync --frozen --no-dev --extra server --extra s3 --extra traces --no-editable

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="Headgate" \
      org.opencontainers.image.description="Every workload is admitted, or has a reason why not."
RUN groupadd --system --gid 10001 headgate \
    && useradd --system --uid 10001 --gid headgate --home-dir /srv/headgate headgate
WORKDIR /srv/headgate
RUN install -d -o headgate -g headgate -m 0700 /srv/headgate/pod-logs
COPY --from=packages /build/.venv /build/.venv
ENV PATH=/build/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HEADGATE_HOST=0.0.0.0 \
    HEADGATE_PORT=8080
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, ssl, urllib.request as u; plain = os.environ.get('HEADGATE_PLAIN_HTTP', '') in ('1', 'true'); u.urlopen('http%s://127.0.0.1:8080/readyz' % ('' if plain else 's'), timeout=2, context=None if plain else ssl._create_unverified_context())"]
CMD ["python", "-m", "headgate.api.serve"]
