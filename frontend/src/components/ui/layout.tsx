// The frame of a page, and the cards on it.
import { type ReactNode, useEffect, useId } from "react";

import styles from "./layout.module.css";

export interface PageProps {
  title: string;
  over?: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Page({ title, over, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Headgate`;
  }, [title]);
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <div className={styles.titles}>
          {over !== undefined && <div className={styles.over}>{over}</div>}
          <h1>{title}</h1>
          {lead !== undefined && <div className={styles.lead}>{lead}</div>}
        </div>
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export interface CardProps {
  title?: string;
  aside?: ReactNode;
  padded?: boolean;
  children: ReactNode;
}

export function Card({ title, aside, padded = false, children }: CardProps) {
  const id = useId();
  return (
    <section className={styles.card} aria-labelledby={title === undefined ? undefined : id}>
      {title !== undefined && (
        <header className={styles.cardHead}>
          <h2 id={id}>{title}</h2>
          {aside !== undefined && <div className={styles.cardAside}>{aside}</div>}
        </header>
      )}
      <div className={padded ? styles.padded : undefined}>{children}</div>
    </section>
  );
}
