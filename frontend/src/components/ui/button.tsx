// A button that stays focusable while disabled and gives the reason.
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";

import styles from "./button.module.css";
import { Hint } from "./hint";

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "disabled"> {
  look?: "plain" | "primary" | "danger" | "quiet";
  shape?: "text" | "icon";
  /** Why it cannot be used now; undefined means it can. */
  refusal?: string;
  /** A word on what it does, for buttons with only a glyph. */
  hint?: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ look = "plain", shape = "text", refusal, hint, onClick, className, ...rest }: ButtonProps) {
  const names = [styles.button, look === "plain" ? "" : styles[look], shape === "icon" ? styles.icon : "", className];
  const button = (
    <button
      type="button"
      {...rest}
      className={names.filter(Boolean).join(" ")}
      aria-disabled={refusal !== undefined || undefined}
      onClick={refusal === undefined ? onClick : (event) => event.preventDefault()}
    />
  );
  const said = refusal ?? hint;
  return said === undefined ? button : <Hint text={said}>{button}</Hint>;
}
