import { QueryClientProvider } from "@tanstack/react-query";
import { createRootRoute, createRoute, createRouter, Link, redirect, RouterProvider } from "@tanstack/react-router";
import { StrictMode, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { BASE } from "./api/base";
import { Cost } from "./pages/cost";
import { Cron } from "./pages/cron";
import { Crons } from "./pages/crons";
import { Job } from "./pages/job";
import { Jobs } from "./pages/jobs";
import { Model } from "./pages/model";
import { Models } from "./pages/models";
import { Node } from "./pages/node";
import { Nodes } from "./pages/nodes";
import { Overview } from "./pages/overview";
import { PastJob } from "./pages/past-job";
import { Queues } from "./pages/queues";
import { Service } from "./pages/service";
import { Services } from "./pages/services";
import { SignedOut, SignIn } from "./pages/sign-in";
import { Submit } from "./pages/submit";
import { Shell } from "./parts/shell";
import { Skeleton } from "./parts/skeleton";
import { Notice, Trouble } from "./parts/trouble";
import { lastSession, live, queries, useSession } from "./session";
import { type Days, RANGES as RANGES_OF_COST } from "./text/cost";
import { DELETED, type View, VIEWS } from "./text/filter";
import { choiceIn } from "./text/lineage-choice";
import { placeIn } from "./text/log-place";
import { type RangeId, RANGES } from "./text/overview";
import { currentTheme, showTheme } from "./theme";
import "./style/tokens.css";
import "./style/base.css";
import "./style/pages.css";
import "./style/cluster.css";
import "./style/actions.css";
import "./style/lineage.css";
import "./style/metrics.css";
import "./style/narrow.css";

const TABS = ["log", "conditions", "events", "changes"] as const;
type Tab = (typeof TABS)[number];

/** The page of somebody who is signed in; the address stays the same while signing in, and the page after a sign-in has ended. */
function Root() {
  const { data: session, error, refetch } = useSession();
  const user = session?.user ?? "";
  useEffect(() => {
    if (user === "") return;
    live.start();
    return () => live.stop();
  }, [user]);
  if (error !== null && session === undefined)
    return (
      <main className="signin">
        <Trouble error={error} retry={() => void refetch()} />
      </main>
    );
  if (session === undefined)
    return (
      <main className="signin">
        <Skeleton rows={4} />
      </main>
    );
  const shown = user === "" ? lastSession() : session;
  if (shown === null) return <SignIn session={session} />;
  return (
    <>
      <Shell key={shown.user} session={shown} />
      {user === "" ? <SignedOut session={session} ask={() => void refetch()} /> : null}
    </>
  );
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

const root = createRootRoute({
  component: Root,
  notFoundComponent: () => (
    <Notice icon="info" title="There is no such page.">
      <Link to="/jobs">To the jobs</Link>
    </Notice>
  ),
});
const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: Overview,
  validateSearch: (search: Record<string, unknown>): { range?: RangeId } => {
    const range = RANGES.find(({ id }) => id === search["range"])?.id;
    return range === undefined ? {} : { range };
  },
});
const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  component: Jobs,
  validateSearch: (search: Record<string, unknown>): { view?: View; q?: string; after?: string } => {
    const view = search["view"] === DELETED ? DELETED : VIEWS.find(({ id }) => id === search["view"])?.id;
    const [q, after] = [text(search["q"]), view === DELETED ? text(search["after"]) : undefined];
    return { ...(view === undefined ? {} : { view }), ...(q === undefined ? {} : { q }), ...(after === undefined ? {} : { after }) };
  },
});
const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$namespace/$kind/$name",
  component: Job,
  validateSearch: (search: Record<string, unknown>): { tab?: Tab; pod?: string } => {
    const tab = TABS.find((known) => known === search["tab"]);
    const pod = text(search["pod"]);
    return { ...(tab === undefined ? {} : { tab }), ...(pod === undefined ? {} : { pod }) };
  },
});
const pastJob = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$namespace/$kind/$name/$uid",
  component: PastJob,
  validateSearch: placeIn,
});

const nodes = createRoute({
  getParentRoute: () => root,
  path: "/nodes",
  component: Nodes,
  validateSearch: (search: Record<string, unknown>): { q?: string; after?: string } => {
    const [q, after] = [text(search["q"]), text(search["after"])];
    return { ...(q === undefined ? {} : { q }), ...(after === undefined ? {} : { after }) };
  },
});
const node = createRoute({ getParentRoute: () => root, path: "/nodes/$name", component: Node });
const queues = createRoute({ getParentRoute: () => root, path: "/queues", component: Queues });
const searched = (search: Record<string, unknown>): { q?: string } => {
  const q = text(search["q"]);
  return q === undefined ? {} : { q };
};
const models = createRoute({ getParentRoute: () => root, path: "/models", component: Models, validateSearch: searched });
const digest = createRoute({
  getParentRoute: () => root,
  path: "/models/digest/$digest",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/models", search: { q: params.digest }, replace: true });
  },
});
const model = createRoute({
  getParentRoute: () => root,
  path: "/models/$namespace/$name",
  component: Model,
  validateSearch: choiceIn,
});
const services = createRoute({ getParentRoute: () => root, path: "/services", component: Services, validateSearch: searched });
const service = createRoute({ getParentRoute: () => root, path: "/services/$namespace/$name", component: Service });
const crons = createRoute({ getParentRoute: () => root, path: "/crons", component: Crons, validateSearch: searched });
const cron = createRoute({ getParentRoute: () => root, path: "/crons/$namespace/$name", component: Cron });
const cost = createRoute({
  getParentRoute: () => root,
  path: "/cost",
  component: Cost,
  validateSearch: (search: Record<string, unknown>): { days?: Days; ns?: string } => {
    const days = RANGES_OF_COST.find(({ id }) => String(id) === String(search["days"]))?.id;
    const ns = text(search["ns"]);
    return { ...(days === undefined ? {} : { days }), ...(ns === undefined ? {} : { ns }) };
  },
});

const submit = createRoute({
  getParentRoute: () => root,
  path: "/submit",
  component: Submit,
  validateSearch: (search: Record<string, unknown>): { kind?: string; from?: string; serve?: string } => {
    const [kind, from, serve] = [text(search["kind"]), text(search["from"]), text(search["serve"])];
    return { ...(kind === undefined ? {} : { kind }), ...(from === undefined ? {} : { from }), ...(serve === undefined ? {} : { serve }) };
  },
});

const router = createRouter({
  basepath: BASE === "" ? "/" : BASE,
  routeTree: root.addChildren([home, jobs, job, pastJob, nodes, node, queues, models, digest, model, services, service, crons, cron, cost, submit]),
});
declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

showTheme(currentTheme());
const place = document.getElementById("root");
if (place === null) throw new Error("the page has no place for the console");
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
