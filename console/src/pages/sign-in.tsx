import { type FormEvent, useEffect, useRef, useState } from "react";
import { RequestError } from "../api/request";
import type { Session } from "../api/wire";
import { Dialog } from "../parts/dialog";
import { Icon } from "../parts/icon";
import mark from "../mark.svg";
import { signIn } from "../session";

/** The one-time code in the address, which is removed from there at once. */
function takeCode(): string {
  const found = /^#code=([\w-]+)$/.exec(location.hash)?.[1] ?? "";
  if (found !== "") history.replaceState(history.state, "", location.pathname + location.search);
  return found;
}

/** In place of the page of somebody who has not signed in yet. */
export function SignIn({ session }: { session: Session }) {
  useEffect(() => {
    document.title = "Sign in · KubeDL";
  }, []);
  return (
    <main className="signin">
      <div className="card">
        <img src={mark} alt="" width="40" height="40" />
        <h1>KubeDL</h1>
        <Proof
          session={session}
          token="Sign in with a Kubernetes token. You see what it may see, and act in its name."
          proxy="The proxy in front of this console did not say who you are. Open the console at the proxy's address."
        />
      </div>
    </main>
  );
}

/** Over the page of somebody whose sign-in has ended: the page stays as it is, and goes on after the next sign-in. */
export function SignedOut({ session, ask }: { session: Session; ask: () => void }) {
  return (
    <Dialog title="Signed out">
      <Proof
        session={session}
        token="Your sign-in has ended. Sign in again, and go on where you were."
        proxy="The proxy in front of this console does not say any more who you are. It may ask you when the page is loaded again."
      />
      {session.mode === "proxy" ? (
        <div className="dialogfoot">
          <button className="button" onClick={ask}>
            Try again
          </button>
          <button className="button primary" onClick={() => location.reload()}>
            Load the page again
          </button>
        </div>
      ) : null}
    </Dialog>
  );
}

/** What proves who somebody is; the words for two of the modes are those of the place that it is in. */
function Proof({ session, token: tokenWords, proxy: proxyWords }: { session: Session; token: string; proxy: string }) {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const tried = useRef(false);

  const prove = async (proof: { token: string } | { code: string }): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await signIn(proof);
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
    } finally {
      setBusy(false);
    }
  };

  useEffect(() => {
    if (session.mode !== "local" || tried.current) return;
    tried.current = true;
    const code = takeCode();
    if (code !== "") void prove({ code });
  });

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setToken("");
    void prove({ token });
  };

  return (
    <form className="proof" onSubmit={submit}>
      {session.mode === "token" ? (
        <>
          <p className="dim">{tokenWords}</p>
          <label htmlFor="token">Token</label>
          <input
            id="token"
            type="password"
            autoComplete="off"
            spellCheck={false}
            required
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
          <button className="button primary" disabled={busy}>
            {busy ? "Signing in" : "Sign in"}
          </button>
          <p className="dimmer">
            To make one: <code>kubectl create token NAME --namespace NAMESPACE</code>
          </p>
        </>
      ) : session.mode === "local" ? (
        <p className="dim">
          {busy ? "Signing in" : <>This console belongs to whoever started it. Run <code>kubedl open</code> for a new address.</>}
        </p>
      ) : (
        <p className="dim">{proxyWords}</p>
      )}
      {error !== null ? (
        <p className="failure" role="alert">
          <Icon name="warn" small />
          <span>
            {error instanceof RequestError ? `${capital(error.problem.why)}. ${error.problem.next}` : "The console does not answer. Try again."}
          </span>
        </p>
      ) : null}
    </form>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
