"""`submit SCRIPT`: options in the lines of a batch script, its command, and what is refused."""

from pathlib import Path

import pytest

from headgate.cli.commands.batch_script import read_script
from headgate.cli.failures import CommandFailed
from headgate.cli.main import hoisted
from tests.cli.invocation import Invoker


def written(directory: Path, text: str, name: str = "train.sh") -> str:
    (directory / name).write_text(text)
    return str(directory / name)


def options(directory: Path, *lines: str) -> list[str]:
    text = "\n".join(["#!/bin/sh", *lines, "echo work", "#HEADGATE --pods=99"])
    return read_script(Path(written(directory, text)), []).options


def test_lines_before_the_first_command_are_options(tmp_path: Path) -> None:
    assert options(tmp_path, "#HEADGATE --pods=4 --name 'a b' # note") == [
        "--pods=4", "--name", "a b",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#SBATCH --ntasks=4", ["--pods", "4"]),
        ("#SBATCH -n 4", ["--pods", "4"]),
        ("#SBATCH -n4", ["--pods", "4"]),
        ("#SBATCH --mem=4G", ["--memory", "4Gi"]),
        ("#SBATCH --mem=512", ["--memory", "512Mi"]),
        ("#SBATCH --gres=gpu:a100:2", ["--gpu", "2"]),
        ("#SBATCH -t 90", ["--max-execution-seconds", "5400"]),
        ("#SBATCH -t 1:30", ["--max-execution-seconds", "90"]),
        ("#SBATCH -t 1:00:30", ["--max-execution-seconds", "3630"]),
        ("#SBATCH --time=1-12", ["--max-execution-seconds", "129600"]),
        ("#SBATCH --array=0-99%10", ["--array", "0-99%10"]),
        ("#SBATCH -p long -J run", ["--queue", "long", "--name", "run"]),
    ],
)
def test_lines_of_sbatch_with_an_equal_meaning_are_taken(
    tmp_path: Path, line: str, expected: list[str]
) -> None:
    assert options(tmp_path, line) == expected


def test_other_lines_of_sbatch_are_told(tmp_path: Path) -> None:
    script = written(tmp_path, "#!/bin/sh\n#SBATCH --exclusive --mail-type=END -n 2\ntrue\n")
    found = read_script(Path(script), [])
    assert (found.options, found.ignored) == (["--pods", "2"], ["--exclusive", "--mail-type=END"])


def test_options_of_the_command_line_come_last_and_win(tmp_path: Path) -> None:
    script = written(tmp_path, "#!/bin/sh\n#HEADGATE --pods=4\ntrue\n")
    words = hoisted(["submit", "--pods", "2", script, "--epochs", "3"])
    assert words == ["submit", "--pods=4", "--pods", "2", "--", script, "--epochs", "3"]


def test_files_of_manifests_are_no_scripts(tmp_path: Path) -> None:
    script = written(tmp_path, "#!/bin/sh\n")
    assert hoisted(["submit", "-f", script]) == ["submit", "-f", script]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("echo no interpreter\n", "has no interpreter"),
        ("#!/usr/bin/ruby\n", "neither a shell nor Python"),
        ("#!/bin/sh\n" + "#" * 100_001, "more than 100000 bytes"),
        ("#!/bin/sh\n#SBATCH --time=soon\n", "no time"),
        ("#!/bin/sh\n#SBATCH --gres=fpga:1\n", "only gpu:N"),
    ],
)
def test_scripts_that_cannot_be_submitted_say_why(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(CommandFailed, match=reason):
        read_script(Path(written(tmp_path, text)), [])


def test_a_command_in_the_place_of_a_script_is_told_how_it_runs() -> None:
    with pytest.raises(CommandFailed, match="there is no script true") as failed:
        read_script(Path("true"), ["--now"])
    assert failed.value.remedy.endswith("headgate run -- true --now")


def test_a_script_is_the_command_of_its_pods(headgate: Invoker, tmp_path: Path) -> None:
    text = "#!/bin/bash -e\n#HEADGATE --pods=3 --queue=main\necho $(date) $1\n"
    script = written(tmp_path, text)
    headgate("submit", "--name", "job", script, "one")
    (pod_set,) = headgate.json("get", "workload/job")["spec"]["podSets"]
    assert pod_set["count"] == 3
    (container,) = pod_set["template"]["spec"]["containers"]
    escaped = text.replace("$(", "$$(")
    assert container["command"] == ["/bin/bash", "-e", "-c", escaped, "train.sh", "one"]
    assert container["workingDir"] == str(tmp_path)


def test_a_script_and_files_are_not_submitted_together(headgate: Invoker, tmp_path: Path) -> None:
    script = written(tmp_path, "#!/bin/sh\ntrue\n")
    assert "not both" in headgate("submit", "-f", "job.yaml", script, code=2).stderr
