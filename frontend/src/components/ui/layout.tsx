// The frame of a page, and the cards on it.
import { type HTMLAttributes, type ReactNode, useEffect, useId } from "react";

import styles from "./layout.module.css";

export interface PageProps {
  title: string;
  over?: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  /** What narrows the list that the page is about. It shares the line of the title, so that rows begin high up. */
  filters?: ReactNode;
  children: ReactNode;
}

export function Page({ title, over, lead, actions, filters, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Headgate`;
  }, [title]);
  return (
    <div className={styles.page} data-list={filters !== undefined || undefined}>
      <header className={styles.head}>
        <div className={styles.titles}>
          {over !== undefined && <div className={styles.over}>{over}</div>}
          <h1>{title}</h1>
          {lead !== undefined && <div className={styles.lead}>{lead}</div>}
        </div>
        {filters !== undefined && <div className={styles.filters}>{filters}</div>}
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** The frame of rows that are the only content of a page: one line and no shadow. */
export function ListFrame({ label, fills = false, children, ...rest }: { label?: string; fills?: boolean } & HTMLAttributes<HTMLElement>) {
  return (
    <section {...rest} className={styles.list} aria-label={label} data-fills={fills || undefined}>
      {children}
    </section>
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
