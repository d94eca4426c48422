"""Names, labels, amounts and what else the specs of several kinds are made of."""

from hypothesis import strategies as st

from headgate.domain.kinds.queue_stop import StopPolicy
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady
from headgate.domain.values.selectors import LabelSelector, Requirement, Taint, Toleration

NAMES = st.from_regex(r"[a-z]([a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
KEYS = st.builds(lambda prefix, name: f"{prefix}{name}", st.sampled_from(["", "a.io/"]), NAMES)
LABELS = st.dictionaries(KEYS, st.one_of(NAMES, st.just("")), max_size=3)
AMOUNTS = st.integers(0, 2**50)
RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
SECONDS = st.integers(1, 10**6)
MAYBE_AMOUNT = st.one_of(st.none(), AMOUNTS)
WEIGHTS = st.integers(0, 10**6)
POLICIES: st.SearchStrategy[StopPolicy] = st.sampled_from(["None", "Hold", "HoldAndDrain"])
SELECTORS = st.builds(
    LabelSelector,
    match_labels=LABELS,
    match_expressions=st.lists(
        st.one_of(
            st.builds(Requirement, key=KEYS, operator=st.sampled_from(["Exists", "DoesNotExist"])),
            st.builds(
                Requirement,
                key=KEYS,
                operator=st.sampled_from(["In", "NotIn"]),
                values=st.tuples(NAMES),
            ),
        ),
        max_size=2,
    ).map(tuple),
)
TAINTS = st.lists(
    st.builds(Taint, key=KEYS, value=NAMES, effect=st.sampled_from(["NoSchedule", "NoExecute"])),
    max_size=3,
    unique_by=lambda taint: (taint.key, taint.effect),
).map(tuple)
WAITS = st.builds(
    WaitForPodsReady,
    timeout_seconds=SECONDS,
    recovery_timeout_seconds=st.one_of(st.none(), st.just(0), SECONDS),
    requeuing_strategy=st.builds(
        RequeuingStrategy,
        timestamp=st.sampled_from(["Eviction", "Creation"]),
        backoff_limit_count=st.one_of(st.none(), st.integers(0, 9)),
        backoff_base_seconds=SECONDS,
        backoff_max_seconds=SECONDS,
        retry_limit_seconds=st.one_of(st.none(), SECONDS),
        reset_after_seconds=st.one_of(st.none(), SECONDS),
    ),
)
TOLERATIONS = st.lists(
    st.one_of(
        st.just(Toleration(operator="Exists")),
        st.builds(Toleration, key=KEYS, value=NAMES, effect=st.sampled_from([None, "NoExecute"])),
    ),
    max_size=3,
).map(tuple)
