// A menu behind a button.
import { Check } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ReactElement, ReactNode } from "react";

import styles from "./menu.module.css";

export interface MenuItem {
  key: string;
  words: ReactNode;
  /** Set for items that are on or off. */
  checked?: boolean;
  /** It is shown with its reason and cannot be chosen. */
  disabled?: boolean;
  /** It destroys something. */
  danger?: boolean;
  onSelect: () => void;
}

export interface MenuProps {
  heading?: ReactNode;
  trigger: ReactElement;
  items: MenuItem[];
  /** Leaves the menu open while several items are switched. */
  stays?: boolean;
}

export function Menu({ heading, trigger, items, stays = false }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={styles.content} align="end" sideOffset={4} collisionPadding={8}>
          {heading !== undefined && <DropdownMenu.Label className={styles.heading}>{heading}</DropdownMenu.Label>}
          {items.map((item) =>
            item.checked === undefined ? (
              <DropdownMenu.Item key={item.key} className={styles.item} data-danger={item.danger === true && item.disabled !== true ? "" : undefined} disabled={item.disabled === true} onSelect={item.onSelect}>
                {item.words}
              </DropdownMenu.Item>
            ) : (
              <DropdownMenu.CheckboxItem
                key={item.key}
                className={styles.item}
                checked={item.checked}
                onCheckedChange={item.onSelect}
                onSelect={(event) => stays && event.preventDefault()}
              >
                <span className={styles.check}>{item.checked && <Check aria-hidden="true" />}</span>
                {item.words}
              </DropdownMenu.CheckboxItem>
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
