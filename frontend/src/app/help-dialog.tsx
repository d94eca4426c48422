// All keyboard commands.
import { Modal } from "@/components/ui/modal";

import styles from "./help-dialog.module.css";
import { DESTINATIONS } from "./navigation";

const COMMANDS: { keys: string[]; words: string }[] = [
  { keys: ["/"], words: "Focus the filter" },
  { keys: ["j", "k"], words: "Next / previous row" },
  { keys: ["Enter"], words: "Open row" },
  { keys: ["x"], words: "Select row" },
  { keys: ["Shift N"], words: "Show new rows" },
  { keys: ["t"], words: "Tables instead of charts, or of the chart that has the focus" },
  { keys: ["Esc"], words: "Close panel or dialog" },
  { keys: ["1", "5"], words: "Sections of a workload or queue, first to last" },
  { keys: ["l"], words: "Logs of a workload" },
  { keys: ["e"], words: "Resubmit a workload with changes" },
  { keys: ["y"], words: "Copy the name of a workload" },
  { keys: ["[", "]"], words: "Time travel: previous / next change" },
  { keys: ["."], words: "Actions of the row or page" },
  { keys: ["a", "z"], words: "Acknowledge / snooze the cause that has the focus" },
  { keys: ["Ctrl K"], words: "Search and commands" },
  { keys: ["?"], words: "Show this help" },
  ...DESTINATIONS.map((page) => ({ keys: ["g", page.key], words: `Go to ${page.words}` })),
];

export function HelpDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Modal open={open} onClose={onClose} title="Keyboard shortcuts" words="Shortcuts only navigate; they never change data.">
      <dl className={styles.commands}>
        {COMMANDS.map((command) => (
          <div key={command.words} className={styles.command}>
            <dt>
              {command.keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{command.words}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
