// Text to be copied: a command or a document.
import { Check, Copy } from "lucide-react";
import { Fragment, useState } from "react";

import { Button } from "./button";
import styles from "./code-block.module.css";

export function CodeBlock({ text, label, wrap = false }: { text: string; label: string; wrap?: boolean }) {
  return (
    <div className={styles.block}>
      <pre className={`${styles.code ?? ""} ${wrap ? (styles.wrap ?? "") : ""}`} tabIndex={0} role="region" aria-label={label}>
        <code>{wrap ? <Words text={text} /> : text}</code>
      </pre>
      <div className={styles.copy}>
        <CopyButton text={text} label={`Copy ${label}`} />
      </div>
    </div>
  );
}

/** Lines end between words only: a break after the hyphen of an option would look like part of it. */
function Words({ text }: { text: string }) {
  return text.split(" ").map((word, index) => (
    <Fragment key={index}>
      {index > 0 && " "}
      <span className={styles.word}>{word}</span>
    </Fragment>
  ));
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <Button look="quiet" shape="icon" aria-label={copied ? "Copied" : label} hint={label} onClick={() => void copy()}>
      {copied ? <Check aria-hidden="true" /> : <Copy aria-hidden="true" />}
    </Button>
  );
}
