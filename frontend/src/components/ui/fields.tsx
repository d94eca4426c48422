// Labelled inputs, and several of them beside each other.
import type { InputHTMLAttributes, ReactNode, Ref, SelectHTMLAttributes } from "react";

import styles from "./fields.module.css";

export interface TextFieldProps extends InputHTMLAttributes<HTMLInputElement> {
  label: string;
  ref?: Ref<HTMLInputElement>;
}

export function TextField({ label, ...rest }: TextFieldProps) {
  return (
    <label className={styles.field}>
      <span className={styles.label}>{label}</span>
      <input {...rest} className={styles.input} />
    </label>
  );
}

export interface SelectFieldProps extends SelectHTMLAttributes<HTMLSelectElement> {
  label: string;
  options: readonly { value: string; words: string }[];
}

export function SelectField({ label, options, ...rest }: SelectFieldProps) {
  return (
    <label className={styles.field}>
      <span className={styles.label}>{label}</span>
      <select {...rest} className={styles.input}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.words}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Fields beside each other, as many as there is room for; wide ones for forms, narrow ones for filters. */
export function FieldGrid({ wide = false, children }: { wide?: boolean; children: ReactNode }) {
  return (
    <div className={styles.grid} data-wide={wide || undefined}>
      {children}
    </div>
  );
}
