// Asks for a token, checks it, and uses it for this browser tab.
import { type SubmitEvent, useEffect, useState } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import { signIn, wasRefused } from "@/lib/api/session";

import styles from "./sign-in.module.css";

const UNKNOWN = "Invalid or expired token.";

export function SignIn() {
  const [token, setToken] = useState("");
  const [refused, setRefused] = useState(wasRefused() ? UNKNOWN : "");
  const [checking, setChecking] = useState(false);
  useEffect(() => {
    document.title = "Sign in · Headgate";
  }, []);

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setChecking(true);
    const problem = await problemWith(token.trim());
    setChecking(false);
    if (problem === "") signIn(token);
    else setRefused(problem);
  };
  return (
    <main className={styles.page}>
      <form className={styles.card} onSubmit={(event) => void submit(event)}>
        <h1>Headgate</h1>
        <p className={styles.words}>Every workload is admitted, or has a reason why not.</p>
        <TextField
          label="Token"
          type="password"
          autoComplete="current-password"
          value={token}
          required
          autoFocus
          aria-invalid={refused !== ""}
          aria-describedby="sign-in-help"
          onChange={(event) => setToken(event.target.value)}
        />
        {refused !== "" && (
          <p className={styles.refused} role="alert">
            {refused}
          </p>
        )}
        <Button type="submit" look="primary" refusal={token.trim() === "" ? "Enter a token" : checking ? "Checking…" : undefined}>
          Sign in
        </Button>
        <p className={styles.help} id="sign-in-help">
          <code>headgate up</code> prints an address that signs you in. Administrators create tokens with <code>headgate token create</code>.
          The token is stored for this browser tab only.
        </p>
      </form>
    </main>
  );
}

async function problemWith(token: string): Promise<string> {
  const headers = new Headers();
  try {
    headers.set("Authorization", `Bearer ${token}`);
  } catch {
    return "Invalid token format.";
  }
  const answer = await fetch("/v1/whoami", { headers }).catch(() => null);
  if (answer === null) return "Can't reach the server. Try again.";
  if (answer.status === 401) return UNKNOWN;
  return answer.ok ? "" : `The server answered with status ${answer.status}. Try again.`;
}
