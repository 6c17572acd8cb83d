import { Link, Outlet } from "@tanstack/react-router";
import type { Session } from "../api/wire";
import { health } from "../live/health";
import mark from "../mark.svg";
import { signOut, useHeard, useNow, useRows } from "../session";
import { useTheme } from "../theme";
import { figure } from "../text/format";
import { Icon } from "./icon";

/** What all pages share: navigation, who is signed in, whether what is shown is current. */
export function Shell({ session }: { session: Session }) {
  const [theme, flip] = useTheme();
  const running = useRows().filter((row) => row.state === "Running").length;
  return (
    <div className="shell">
      <a className="sr" href="#main">
        Skip to content
      </a>
      <aside className="side">
        <Link className="brand" to="/jobs">
          <img src={mark} alt="" width="26" height="26" />
          KubeDL
        </Link>
        <div className="cluster">
          <span className="dot" />
          <b className="cut">{session.cluster || "this cluster"}</b>
        </div>
        <nav className="nav" aria-label="Main">
          <Link to="/jobs">
            <Icon name="jobs" />
            Jobs
            {running > 0 ? (
              <span className="count" title={`${running} running`}>
                {figure(running)}
              </span>
            ) : null}
          </Link>
        </nav>
        <div className="foot">
          <LiveDot />
          <Me session={session} />
        </div>
      </aside>
      <div className="main">
        <header className="top">
          <Link className="brand narrow" to="/jobs" aria-label="KubeDL, jobs">
            <img src={mark} alt="" width="26" height="26" />
          </Link>
          <span className="narrow">
            <LiveDot />
          </span>
          <span className="grow" />
          <button className="button icon-only" onClick={flip} aria-label={theme === "dark" ? "Light colours" : "Dark colours"}>
            <Icon name={theme === "dark" ? "sun" : "moon"} small />
          </button>
          {session.mode === "token" ? (
            <button className="button narrow" onClick={() => void signOut()}>
              Sign out
            </button>
          ) : null}
        </header>
        <main className="page" id="main" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
    </div>
  );
}

function LiveDot() {
  const heard = useHeard();
  const { tone, words } = health(heard, useNow(1000));
  return (
    <div className={`livebox tone-dot-${tone}`} role="status">
      <span className="dot" />
      {words}
    </div>
  );
}

function Me({ session }: { session: Session }) {
  const short = session.user.replace(/^system:serviceaccount:/, "");
  return (
    <div className="me">
      <span className="face" aria-hidden="true">
        {short.replace(/[^A-Za-z0-9]/g, "").slice(0, 2).toUpperCase()}
      </span>
      <span className="who">
        <b className="cut" title={session.user}>
          {short}
        </b>
        {session.mode === "token" ? (
          <button className="linklike" onClick={() => void signOut()}>
            Sign out
          </button>
        ) : (
          <span className="dimmer">{session.mode === "local" ? "your kubeconfig" : "signed in by the proxy"}</span>
        )}
      </span>
    </div>
  );
}
