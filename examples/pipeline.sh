#!/bin/sh
# Each step begins once the one before has succeeded; a failed step ends the pipeline.
set -eu
directory=$(mktemp -d)
step() {
    headgate submit -o name --wait --for phase=Succeeded --chdir "$directory" "$@"
}

cat > "$directory/prepare.sh" <<'STEP'
#!/bin/sh
seq 1 10 > numbers
STEP
cat > "$directory/add.sh" <<'STEP'
#!/bin/sh
total=0
while read -r number; do total=$((total + number)); done < numbers
echo "$total" > total
STEP

first=$(step "$directory/prepare.sh")
echo "$first succeeded"
second=$(step "$directory/add.sh")
echo "$second succeeded: $(cat "$directory/total")"
rm -r "$directory"
