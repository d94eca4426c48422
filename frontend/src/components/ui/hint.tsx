// A short remark beside what it is about, on hover and on keyboard focus.
import { Tooltip } from "radix-ui";
import type { ReactElement, ReactNode } from "react";

import styles from "./hint.module.css";

export function Hint({ text, children }: { text: ReactNode; children: ReactElement }) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content className={styles.hint} sideOffset={6} collisionPadding={8}>
          {text}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
