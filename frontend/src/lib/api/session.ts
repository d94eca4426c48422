// The token of this browser tab: taken once from the URL's fragment, then kept for the session only.
const KEY = "headgate.token";
const listeners = new Set<() => void>();
let refused = false;

/** Moves a token from `#token=…` into the session, so that it stays in no history and no link. */
export function takeTokenFromUrl(location: Location, history: History): void {
  const fragment = new URLSearchParams(location.hash.replace(/^#/, ""));
  const token = fragment.get("token");
  if (token === null) return;
  fragment.delete("token");
  const rest = fragment.toString();
  history.replaceState(history.state, "", location.pathname + location.search + (rest ? `#${rest}` : ""));
  signIn(token);
}

/** The token to send, or null when no user is signed in. */
export function currentToken(): string | null {
  return sessionStorage.getItem(KEY);
}

/** Uses this token from now on. */
export function signIn(token: string): void {
  refused = false;
  sessionStorage.setItem(KEY, token.trim());
  announce();
}

/** Forgets the token; every open page goes back to the sign-in page. */
export function signOut(): void {
  if (currentToken() === null) return;
  sessionStorage.removeItem(KEY);
  announce();
}

/** Forgets a token that the server does not take, and remembers that to say it. */
export function forgetRefusedToken(): void {
  if (currentToken() === null) return;
  refused = true;
  signOut();
}

/** Whether the last token was forgotten because the server did not take it. */
export function wasRefused(): boolean {
  return refused;
}

/** Calls back whenever a user signs in or out. */
export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function announce(): void {
  for (const listener of listeners) listener();
}
