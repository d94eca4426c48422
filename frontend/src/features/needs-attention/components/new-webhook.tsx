// A new webhook, and a secret that is shown once.
import { useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { Button } from "@/components/ui/button";
import { CodeBlock } from "@/components/ui/code-block";
import { SelectField, TextField } from "@/components/ui/fields";
import { Modal } from "@/components/ui/modal";
import { problemOf } from "@/lib/api/problem";

import { createWebhook, replaceSecret } from "../api/alerts";
import styles from "./needs-attention.module.css";

export type OnSecret = (found: { name: string; secret: string }) => void;

const SEVERITIES = [
  { value: "critical", words: "Critical" },
  { value: "warning", words: "Warning and critical" },
  { value: "info", words: "All" },
] as const;

export function NewWebhook({ onClose, onSecret }: { onClose: () => void; onSecret: OnSecret }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [address, setAddress] = useState("");
  const [severity, setSeverity] = useState<(typeof SEVERITIES)[number]["value"]>("warning");
  const [running, setRunning] = useState(false);
  const [failure, setFailure] = useState("");
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setRunning(true);
    try {
      await createWebhook(name.trim(), address.trim(), severity);
      const secret = await replaceSecret(name.trim());
      await client.invalidateQueries({ queryKey: ["webhooks"] });
      onClose();
      onSecret({ name: name.trim(), secret });
    } catch (error) {
      const { detail, errors } = problemOf(error);
      setFailure(errors?.[0]?.rule ?? detail);
      setRunning(false);
    }
  };
  const missing = name.trim() === "" || address.trim() === "" ? "Enter a name and an address." : undefined;
  return (
    <Modal open title="New webhook" words="Alerts are posted to the address, signed as Standard Webhooks say." onClose={onClose}>
      <form className={styles.form} onSubmit={(event) => void submit(event)}>
        <TextField label="Name" placeholder="pager" value={name} required autoFocus onChange={(event) => setName(event.target.value)} />
        <TextField label="Address" placeholder="https://alerts.example.org/headgate" value={address} required onChange={(event) => setAddress(event.target.value)} />
        <SelectField
          label="Severity"
          options={SEVERITIES}
          value={severity}
          onChange={(event) => setSeverity(SEVERITIES.find(({ value }) => value === event.target.value)?.value ?? "warning")}
        />
        {failure !== "" && (
          <p className={styles.bad} role="alert">
            {failure}
          </p>
        )}
        <div className={styles.foot}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" refusal={running ? "In progress…" : missing}>
            Create webhook
          </Button>
        </div>
      </form>
    </Modal>
  );
}

export function Secret({ name, secret, onClose }: { name: string; secret: string; onClose: () => void }) {
  return (
    <Modal open title={`Secret of ${name}`} words="Give it to the receiver, which verifies signatures with it. It is not shown again." onClose={onClose}>
      <div className={styles.form}>
        <CodeBlock wrap label="secret" text={secret} />
        <div className={styles.foot}>
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        </div>
      </div>
    </Modal>
  );
}
