// All keyboard commands.
import { Modal } from "@/components/ui/modal";

import styles from "./help-dialog.module.css";
import { DESTINATIONS } from "./navigation";

const COMMANDS: { keys: string[]; words: string }[] = [
  { keys: ["/"], words: "Go to the first filter" },
  { keys: ["j", "k"], words: "Move down and up in a table" },
  { keys: ["Enter"], words: "Open the row" },
  { keys: ["x"], words: "Choose the row" },
  { keys: ["Esc"], words: "Close the panel or dialog" },
  { keys: ["Ctrl K"], words: "Find anything, do anything" },
  { keys: ["?"], words: "Show this" },
  ...DESTINATIONS.map((page) => ({ keys: ["g", page.key], words: `Go to ${page.words}` })),
];

export function HelpDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Modal open={open} onClose={onClose} title="Keyboard commands" words="No single key ever changes anything.">
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
