"""The containers: their programs, users and health checks."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = ("migrate", "api", "worker", "upkeep")
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_every_part_of_an_installation_is_a_service() -> None:
    assert set(SERVICES) == {"postgres", "redis", "balancer", *OURS}


def test_apis_and_deciding_workers_come_in_pairs() -> None:
    assert SERVICES["api"]["deploy"]["replicas"] == 2
    assert SERVICES["worker"]["deploy"]["replicas"] == 2


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"migrate", "api"}))
def test_every_lasting_service_has_a_health_check(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] in {"CMD", "CMD-SHELL"}
    assert {"interval", "timeout", "retries"} <= check.keys()


def test_the_health_check_of_the_api_is_that_of_the_image() -> None:
    assert "healthcheck" not in SERVICES["api"]
    assert "HEALTHCHECK" in DOCKERFILE
    assert "/readyz" in DOCKERFILE


def test_the_image_does_not_run_as_root() -> None:
    users = re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE)
    assert users
    assert users[-1].split(":")[0] not in {"root", "0"}


@pytest.mark.parametrize("name", OURS)
def test_our_services_may_do_nothing_they_need_not(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service.get("privileged") is None


@pytest.mark.parametrize("name", ["api", "worker", "upkeep"])
def test_nothing_starts_before_the_schema_is_there(name: str) -> None:
    waited_for = SERVICES[name]["depends_on"]
    assert waited_for["migrate"]["condition"] == "service_completed_successfully"
    assert SERVICES["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert SERVICES["migrate"]["command"] == ["headgate", "migrate"]
    assert SERVICES["migrate"]["restart"] == "no"


def test_each_queue_has_a_worker_and_beat_is_not_used() -> None:
    def queues_of(name: str) -> str:
        command: list[str] = SERVICES[name]["command"]
        assert command[command.index("--pool") + 1] == "solo"
        assert not {"-B", "--beat"} & set(command)
        return command[command.index("--queues") + 1]

    assert {queues_of("worker"), queues_of("upkeep")} == {"admission", "upkeep"}


def test_the_log_is_on_a_volume_where_postgres_18_keeps_it() -> None:
    assert SERVICES["postgres"]["image"] == "postgres:18"
    assert SERVICES["postgres"]["volumes"] == ["log:/var/lib/postgresql"]
    assert "log" in COMPOSE["volumes"]


def test_secrets_are_asked_for_and_have_no_default() -> None:
    text = (ROOT / "compose.yaml").read_text()
    given = re.findall(r"\$\{(\w+)(:\?|:-)?", text)
    assert {name for name, _ in given} == {"POSTGRES_PASSWORD", "HEADGATE_ADMIN_TOKEN"}
    assert {kind for _, kind in given} == {":?"}


def test_only_the_balancer_can_be_reached_and_it_does_not_hold_streams_back() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["balancer"]
    balancing = COMPOSE["configs"]["balancer"]["content"]
    assert "flush_interval -1" in balancing
    assert re.search(r"name api\s+port 8080", balancing)
    assert SERVICES["balancer"]["configs"][0]["target"] == "/etc/caddy/Caddyfile"


def test_everything_the_image_copies_is_sent_to_the_builder() -> None:
    sent = [
        line.removeprefix("!").rstrip("/")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE):
        for source in sources.split():
            top = source.rstrip("/").split("/")[0]
            assert top in sent
            assert (ROOT / source).exists()
