// A dialog over the page: focus stays inside, Esc closes, focus returns to where it was.
import { X } from "lucide-react";
import { Dialog } from "radix-ui";
import type { ReactNode } from "react";

import { Button } from "./button";
import styles from "./modal.module.css";

export interface ModalProps {
  title: string;
  words?: ReactNode;
  open: boolean;
  /** At the lower edge, as wide as the window. */
  sheet?: boolean;
  onClose: () => void;
  children: ReactNode;
}

export function Modal({ title, words, open, sheet = false, onClose, children }: ModalProps) {
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className={styles.scrim} />
        <Dialog.Content className={styles.dialog} data-sheet={sheet || undefined} {...(words === undefined && { "aria-describedby": undefined })}>
          <Dialog.Title className={styles.title}>{title}</Dialog.Title>
          {words !== undefined && <Dialog.Description className={styles.words}>{words}</Dialog.Description>}
          {children}
          <Dialog.Close asChild>
            <Button look="quiet" shape="icon" className={styles.close} aria-label="Close">
              <X aria-hidden="true" />
            </Button>
          </Dialog.Close>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
