"""The substrate of one host: runs as directories with a shim each, observed by their files."""

import contextlib
import math
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from headgate.adapters.system.clocks_and_randomness import wall_clock
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.executor.substrate import (
    CannotStart,
    NodeDescription,
    ObservedRun,
    OutputChunk,
    PodPlan,
    RunKey,
    SessionPlan,
    StopOrder,
)
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.inventory import (
    GpuInventory,
    NodeSettings,
    describe_host,
    free_gpus,
)
from headgate.executor.substrates.agent.isolation import (
    PodCgroups,
    kill_abandoned,
    level_of,
    own_cgroups,
    prepare_cgroups,
)
from headgate.executor.substrates.agent.pod_content import (
    Fetch,
    FetchedUploads,
    PodImages,
)
from headgate.executor.substrates.agent.pod_directory import (
    VOLUMES,
    WORK,
    Progress,
    host_variables,
    own_mounts,
    prepare_pod,
    read_output,
    read_progress,
    root_of,
    with_end,
    with_progress,
    write_order,
)
from headgate.executor.substrates.agent.pod_template import (
    HONOURED,
    PodRules,
    PodTemplate,
    checkpoint_signal,
    read_template,
)
from headgate.executor.substrates.agent.run_directory import (
    Exit,
    Launch,
    Lease,
    RunContext,
    Started,
    StartsLater,
    Stop,
)
from headgate.executor.substrates.agent.terminal import AgentSession, open_session
from headgate.executor.substrates.agent.wake_socket import WakeSocket, is_taken
from headgate.executor.substrates.agent.zygote import Zygote

RUNS = "runs"
LEASE = "lease.json"
SCAN_SECONDS = 5.0
SECONDS_FOR_A_SHIM = 5.0
FENCE_MARGIN_SECONDS = 3.0


class HostSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The runs, node and pod rules of a host's agent; without `podman` pods have no images."""

    directory: Path
    node: NodeSettings
    rules: PodRules = PodRules()
    podman: str = ""


class _Run(msgspec.Struct):
    """A run in memory."""

    directory: Path
    launch: Launch
    context: RunContext
    observed: ObservedRun
    asked_at: float
    progress: Progress | None = None
    """What stood in the progress file when the pod got its order to stop."""


class AgentHost:
    """Fills the port `Substrate` with processes of this host; used by one thread but for `wake`."""

    nodes_seconds = 60.0

    def __init__(
        self, settings: HostSettings, gpus: GpuInventory, fetch: Fetch | None = None
    ) -> None:
        self._settings = settings
        self._gpus = gpus
        self._boot_id = files.boot_id()
        self._root = settings.directory.resolve()
        self._wakes = WakeSocket(self._root)
        self._runs_root = self._root / RUNS
        self._runs_root.mkdir(parents=True, exist_ok=True)
        for directory in (self._root, self._runs_root):
            directory.chmod(0o711)
        self.cgroups = prepare_cgroups(own_cgroups(), settings.node.executor)
        self._uploads = FetchedUploads(self._root, fetch, self.wake)
        self._images = PodImages(settings.podman, self.wake)
        self._zygote = Zygote()
        self._runs: dict[str, _Run] = {}
        self._scanned_at = 0.0
        self._server_clock = wall_clock() / MICROSECONDS_PER_SECOND - files.boot_seconds()
        self._gpu_ids = [gpu.id for gpu in gpus.gpus()]
        self._fence_at = math.inf
        self._scan()

    @property
    def capabilities(self) -> Sequence[str]:
        """What of a template is honoured, and the level of isolation."""
        fetched = (*self._uploads.capabilities, *self._images.capabilities)
        return (*HONOURED, *fetched, f"isolation.{level_of(self.cgroups)}")

    def observe(self) -> Mapping[str, ObservedRun]:
        """Returns the runs; all directories are read every few seconds, and else those that woke.

        What a shim tells may be lost; its files are what counts.
        """
        self._read_wakes()
        if files.boot_seconds() - self._scanned_at >= SCAN_SECONDS:
            self._scan()
        for run in self._runs.values():
            run.observed = with_progress(run.observed, run.directory, run.progress)
        return {name: run.observed for name, run in self._runs.items()}

    def start(self, plan: PodPlan) -> None:
        """Starts a run unless there is a directory for it. Raises `CannotStart`.

        It starts at a later call where an upload or image is to be fetched or pods leave its GPUs.
        """
        name = plan.key.name
        directory = self._runs_root / name
        if name in self._runs or self._would_be_fenced(plan):
            return
        try:
            archive = self._uploads.archive_for(plan)
            image = self._images.image_for(plan)
            template = read_template(
                plan,
                self._settings.rules,
                directory / VOLUMES,
                host_variables(directory, self._settings.node.name, plan),
                image,
            )
            devices = self._free_gpus(template)
        except StartsLater:
            return
        launch = self._launch_of(plan, template, directory, devices)
        try:
            prepare_pod(directory, plan, template, self._settings.node.name, archive)
            files.write(directory / files.LAUNCH, launch)
        except OSError as error:
            shutil.rmtree(directory, ignore_errors=True)
            raise CannotStart(f"directory of the pod: {os.strerror(error.errno or 0)}") from error
        except CannotStart:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        self._runs[name] = self._new_run(directory, launch)
        self._zygote.start_shim(directory)

    def signal(self, key: RunKey, order: StopOrder) -> None:
        """Writes the order for pod and shim; the same order again changes nothing."""
        run = self._runs.get(key.name)
        if run is None or files.is_deleted(run.directory):
            return
        now = files.boot_seconds()
        told = run.directory / files.POD / files.EVICTION
        stop = files.read(run.directory / files.STOP, Stop)
        run.progress = run.progress or read_progress(run.directory)
        if stop is None or files.read(told, StopOrder) != order:
            at = datetime.fromisoformat(order.deadline).timestamp() if order.deadline else math.inf
            kill_at = max(now, at - self._server_clock)
            write_order(run.directory, run.context, order, now=now, deadline=kill_at)
        self._poke(run)

    def kill(self, key: RunKey) -> None:
        """Has the shim kill the pod at once."""
        run = self._runs.get(key.name)
        if run is not None and not files.is_deleted(run.directory):
            stop = files.read(run.directory / files.STOP, Stop)
            if stop is None or stop.kill_at > 0:
                stop = Stop(reason="Evicted", signal=signal.SIGKILL, kill_at=0.0)
                files.write(run.directory / files.STOP, stop)
            self._poke(run)

    def logs(self, key: RunKey, stream: str, offset: int, limit: int) -> OutputChunk:
        """Returns output of a run."""
        return read_output(self._runs_root / key.name / files.OUTPUT, stream, offset, limit)

    def flush(self) -> None:
        """Nothing waits: each pod has a shim of its own."""

    def nodes(self) -> list[NodeDescription]:
        """Returns this host."""
        gpus = self._gpus.gpus()
        self._gpu_ids = [gpu.id for gpu in gpus]
        return [describe_host(self._settings.node, gpus)]

    def forget(self, key: RunKey) -> None:
        """Removes the directory of an ended run, its marker last."""
        run = self._runs.get(key.name)
        if run is None or run.observed.state != "Ended":
            return
        del self._runs[key.name]
        gone = run.directory.with_name(f".{run.directory.name}.gone")
        with contextlib.suppress(OSError):
            run.directory.rename(gone)
            shutil.rmtree(gone)

    def open_session(self, key: RunKey, plan: SessionPlan) -> AgentSession:
        """Starts a command beside a run."""
        return open_session(self._runs_root / key.name, plan)

    def keep_lease(self, seconds: float) -> None:
        """Moves the time at which pods under the policy Fence are killed."""
        self._fence_at = files.boot_seconds() + seconds - FENCE_MARGIN_SECONDS
        lease = Lease(fence_at=self._fence_at, boot_id=self._boot_id)
        files.write(self._root / LEASE, lease)

    def keep_time(self, server_time: Instant) -> None:
        """Notes the server's time: deadlines are by its clock, and this host's may be set."""
        self._server_clock = server_time / MICROSECONDS_PER_SECOND - files.boot_seconds()

    def wait(self, seconds: float) -> None:
        """Returns once a shim or `wake` has told something, at the latest after `seconds`."""
        self._wakes.wait(seconds)

    def wake(self) -> None:
        """Ends `wait`."""
        self._wakes.wake()

    def close(self) -> None:
        """Ends the parent of shims; pods run on."""
        self._uploads.close()
        self._zygote.close()
        self._wakes.close()

    def _free_gpus(self, template: PodTemplate) -> tuple[str, ...]:
        """Returns the GPUs that a pod gets, and tells it. Raises `CannotStart`, `StartsLater`."""
        if not template.gpus:
            return ()
        used = {
            device: not (run.directory / files.STOP).exists()
            for run in self._runs.values()
            for device in (run.launch.devices if run.observed.state != "Ended" else ())
        }
        devices = free_gpus(template.gpus, self._gpu_ids, used)
        template.environment["CUDA_VISIBLE_DEVICES"] = ",".join(devices)
        return devices

    def _would_be_fenced(self, plan: PodPlan) -> bool:
        """Whether its shim would kill it at once: it starts when the lease is renewed."""
        return plan.node_loss_policy == "Fence" and files.boot_seconds() >= self._fence_at

    def _launch_of(
        self, plan: PodPlan, template: PodTemplate, directory: Path, devices: tuple[str, ...]
    ) -> Launch:
        context = RunContext(
            key=plan.key,
            log_id=plan.log_id,
            grace_seconds=template.grace_seconds,
            checkpoint_signal=checkpoint_signal(plan.template),
            requests=plan.requests,
        )
        fences = plan.node_loss_policy == "Fence"
        return Launch(
            name=plan.key.name,
            boot_id=self._boot_id,
            command=template.command,
            environment=template.environment,
            working_directory=template.working_directory or str(directory / WORK),
            account=template.account,
            limits=template.limits,
            mounts=(*own_mounts(directory, template), *template.mounts),
            root=root_of(directory, template.image_root),
            grace_seconds=template.grace_seconds,
            active_deadline_seconds=template.active_deadline_seconds,
            max_output_bytes=plan.max_output_bytes,
            cgroups=self.cgroups,
            lease_file=str(self._root / LEASE) if fences else "",
            wake_socket=self._wakes.name,
            devices=devices,
            pod="-".join((self._settings.node.name, *map(str, plan.key.pod))),
            context=msgspec.Raw(msgspec.json.encode(context)),
        )

    def _new_run(self, directory: Path, launch: Launch) -> _Run:
        context = msgspec.json.decode(launch.context, type=RunContext)
        observed = ObservedRun(
            key=context.key,
            log_id=context.log_id,
            state="Starting",
            node=self._settings.node.name,
            requests=context.requests,
        )
        return _Run(directory, launch, context, observed, asked_at=files.boot_seconds())

    def _scan(self) -> None:
        """Reads every directory; one without a launch was never started."""
        self._scanned_at = files.boot_seconds()
        with contextlib.suppress(OSError):
            files.keep_spares(self._root)
        for entry in os.scandir(self._runs_root):
            if entry.name.startswith("."):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name not in self._runs:
                launch = files.read(Path(entry.path) / files.LAUNCH, Launch)
                if launch is not None:
                    self._runs[entry.name] = self._new_run(Path(entry.path), launch)
                    self._runs[entry.name].asked_at = 0.0
        for run in self._runs.values():
            self._look_at(run)

    def _look_at(self, run: _Run) -> None:
        """Reads what the shim has written since; an ended run does not change any more."""
        if run.observed.state == "Ended" or self._has_ended(run):
            return
        if run.launch.boot_id != self._boot_id:
            PodCgroups(run.launch.cgroups, run.launch.name).remove()
            self._end_lost(run, "the host was restarted")
            return
        supervisor = files.read(run.directory / files.SUPERVISOR, files.Supervisor)
        if supervisor is None:
            if files.is_deleted(run.directory):
                if not is_taken(run.launch.shim_name):
                    self._end_abandoned(run, "the directory of the pod was deleted")
            elif files.boot_seconds() - run.asked_at >= SECONDS_FOR_A_SHIM:
                run.asked_at = files.boot_seconds()
                self._zygote.start_shim(run.directory)
            return
        started = files.read(run.directory / files.STARTED, Started)
        if started is not None:
            run.observed = msgspec.structs.replace(
                run.observed, state="Running", started_at=started.at
            )
        if not files.is_alive(supervisor, self._boot_id) and not self._has_ended(run):
            self._end_abandoned(run, "the process that supervised the pod was killed")

    def _has_ended(self, run: _Run) -> bool:
        end = files.read(run.directory / files.EXIT, Exit)
        if end is not None:
            run.observed = with_end(run.observed, end)
        return end is not None

    def _end_abandoned(self, run: _Run, message: str) -> None:
        """Ends what the shim of a pod has left when it was killed."""
        mark = os.fsencode(run.directory / files.POD / files.EVICTION)
        kill_abandoned(PodCgroups(run.launch.cgroups, run.launch.name), mark)
        self._end_lost(run, message)

    def _end_lost(self, run: _Run, message: str) -> None:
        """Ends a pod without an exit code, as that is lost with its shim."""
        started = files.read(run.directory / files.STARTED, Started)
        end = Exit(
            reason="NodeLost",
            message=message,
            started_at=started.at if started else run.observed.started_at,
            finished_at=wall_clock(),
        )
        with contextlib.suppress(FileNotFoundError):  # the directory was deleted
            files.write(run.directory / files.EXIT, end, durable=True)
        run.observed = with_end(run.observed, end)

    def _poke(self, run: _Run) -> None:
        """Has the shim look at its orders; a shim that is about to start reads them anyway."""
        supervisor = files.read(run.directory / files.SUPERVISOR, files.Supervisor)
        if supervisor is not None and supervisor.boot_id == self._boot_id:
            files.send_signal(supervisor, signal.SIGUSR1)

    def _read_wakes(self) -> None:
        for name in self._wakes.received():
            if name in self._runs:
                self._look_at(self._runs[name])
