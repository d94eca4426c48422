// Every page and its address; the code of a page comes with its address.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect, useParams } from "@tanstack/react-router";

import { Failed, Skeleton } from "@/components/ui/states";
import { Page } from "@/components/ui/layout";
import { RouterLink } from "@/components/ui/router-link";

import { Frame } from "./frame";
import { MOVED_PATHS, presentAddress } from "./moved-addresses";
import { ATTENTION } from "./navigation";
import { PageFailure } from "./page-failure";

// Each page is fetched when a user opens it, so that the first page loads fast.
const BacktestPage = lazyRouteComponent(() => import("@/features/backtests/components/backtest-page"), "BacktestPage");
const BacktestsPage = lazyRouteComponent(() => import("@/features/backtests/components/backtests-page"), "BacktestsPage");
const ConfigurationPage = lazyRouteComponent(() => import("@/features/configuration/components/configuration-page"), "ConfigurationPage");
const CyclePage = lazyRouteComponent(() => import("@/features/cycles/components/cycle-page"), "CyclePage");
const CyclesPage = lazyRouteComponent(() => import("@/features/cycles/components/cycles-page"), "CyclesPage");
const EventsPage = lazyRouteComponent(() => import("@/features/events/components/events-page"), "EventsPage");
const ExecutorPage = lazyRouteComponent(() => import("@/features/executors/components/executor-page"), "ExecutorPage");
const ExecutorsPage = lazyRouteComponent(() => import("@/features/executors/components/executors-page"), "ExecutorsPage");
const NodePage = lazyRouteComponent(() => import("@/features/executors/components/node-page"), "NodePage");
const NeedsAttentionPage = lazyRouteComponent(() => import("@/features/needs-attention/components/needs-attention-page"), "NeedsAttentionPage");
const LabPage = lazyRouteComponent(() => import("@/features/backtests/components/lab-page"), "LabPage");
const OverviewPage = lazyRouteComponent(() => import("@/features/overview/components/overview-page"), "OverviewPage");
const PreemptionsPage = lazyRouteComponent(() => import("@/features/preemptions/components/preemptions-page"), "PreemptionsPage");
const RoundPage = lazyRouteComponent(() => import("@/features/preemptions/components/round-page"), "RoundPage");
const QueuePage = lazyRouteComponent(() => import("@/features/queues/components/queue-page"), "QueuePage");
const QueuesPage = lazyRouteComponent(() => import("@/features/queues/components/queues-page"), "QueuesPage");
const RecordedSimulationPage = lazyRouteComponent(() => import("@/features/what-if/components/recorded-simulation-page"), "RecordedSimulationPage");
const SimulationsPage = lazyRouteComponent(() => import("@/features/backtests/components/simulations-page"), "SimulationsPage");
const SubmitPage = lazyRouteComponent(() => import("@/features/submit/components/submit-page"), "SubmitPage");
const TopologyPage = lazyRouteComponent(() => import("@/features/topology/components/topology-page"), "TopologyPage");
const WhatIfPage = lazyRouteComponent(() => import("@/features/what-if/components/what-if-page"), "WhatIfPage");
const WorkloadPage = lazyRouteComponent(() => import("@/features/workloads/components/workload-page"), "WorkloadPage");
const WorkloadsPage = lazyRouteComponent(() => import("@/features/workloads/components/workloads-page"), "WorkloadsPage");

const root = createRootRoute({
  component: Frame,
  notFoundComponent: () => (
    <Page title="Page not found">
      <RouterLink to="/">Go to the overview</RouterLink>
    </Page>
  ),
  errorComponent: ({ error, reset }) => <Failed error={error} onRetry={reset} />,
});

const overview = createRoute({ getParentRoute: () => root, path: "/", component: OverviewPage });
const queues = createRoute({ getParentRoute: () => root, path: "/queues", component: QueuesPage });
const queue = createRoute({
  getParentRoute: () => root,
  path: "/queues/$name",
  loader: () => QueuePage.preload?.(),
  component: function QueueRoute() {
    const { name } = queue.useParams();
    return <QueuePage key={name} name={name} />;
  },
});
const workloads = createRoute({ getParentRoute: () => root, path: "/workloads", component: WorkloadsPage });
const workload = createRoute({
  getParentRoute: () => root,
  path: "/workloads/$namespace/$name",
  loader: () => WorkloadPage.preload?.(),
  component: function WorkloadRoute() {
    const { namespace, name } = workload.useParams();
    return <WorkloadPage key={`${namespace}/${name}`} workloadKey={`${namespace}/${name}`} />;
  },
});
const submit = createRoute({ getParentRoute: () => root, path: "/submit", component: SubmitPage });
const needsAttention = createRoute({ getParentRoute: () => root, path: ATTENTION, component: NeedsAttentionPage });
/** Leads from an address of before, of links that were kept, to that of today; undefined leads nowhere. */
function leadTo(address: string | undefined): void {
  if (address === undefined) return;
  const [to = "", query = ""] = address.split("?");
  redirect({ to: to as "/", search: Object.fromEntries(new URLSearchParams(query)), replace: true, throw: true });
}
const moved = MOVED_PATHS.map((path) =>
  createRoute({
    getParentRoute: () => root,
    path,
    beforeLoad: ({ location }) => leadTo(presentAddress(location.pathname, location.searchStr) ?? "/"),
  }),
);
const topology = createRoute({ getParentRoute: () => root, path: "/topology", component: TopologyPage });
const preemptions = createRoute({ getParentRoute: () => root, path: "/preemptions", component: PreemptionsPage });
const round = createRoute({
  getParentRoute: () => root,
  path: "/preemptions/$id",
  loader: () => RoundPage.preload?.(),
  component: function RoundRoute() {
    const { id } = round.useParams();
    return <RoundPage key={id} id={id} />;
  },
});
const events = createRoute({ getParentRoute: () => root, path: "/events", component: EventsPage });

const whatIf = createRoute({ getParentRoute: () => root, path: "/simulations/new", component: WhatIfPage });
/** One page for all of it: another kind leaves the focus where it is. */
const configuration = createRoute({
  getParentRoute: () => root,
  path: "/configuration",
  component: function ConfigurationRoute() {
    const { kind = "", _splat = "" } = useParams({ strict: false });
    return <ConfigurationPage kind={kind} name={_splat} />;
  },
});
const configuredKinds = createRoute({
  getParentRoute: () => configuration,
  path: "/",
  beforeLoad: ({ location }) => leadTo(presentAddress(location.pathname, location.searchStr)),
});
const configuredKind = createRoute({ getParentRoute: () => configuration, path: "$kind" });
/** Its name may be `namespace/name`. */
const configuredObject = createRoute({ getParentRoute: () => configuration, path: "$kind/$" });
const simulations = createRoute({ getParentRoute: () => root, path: "/simulations", component: SimulationsPage });
const simulation = createRoute({
  getParentRoute: () => root,
  path: "/simulations/$id",
  loader: () => RecordedSimulationPage.preload?.(),
  component: function SimulationRoute() {
    const { id } = simulation.useParams();
    return <RecordedSimulationPage key={id} id={id} backtest={<BacktestPage id={id} />} />;
  },
});
const lab = createRoute({ getParentRoute: () => root, path: "/simulations/lab", component: LabPage });
const backtests = createRoute({ getParentRoute: () => root, path: "/simulations/backtest", component: BacktestsPage });
const cycles = createRoute({ getParentRoute: () => root, path: "/cycles", component: CyclesPage });
const cycle = createRoute({
  getParentRoute: () => root,
  path: "/cycles/$id",
  loader: () => CyclePage.preload?.(),
  component: function CycleRoute() {
    const { id } = cycle.useParams();
    return <CyclePage key={id} id={id} />;
  },
});
const executors = createRoute({ getParentRoute: () => root, path: "/executors", component: ExecutorsPage });
const executor = createRoute({
  getParentRoute: () => root,
  path: "/executors/$name",
  loader: () => ExecutorPage.preload?.(),
  component: function ExecutorRoute() {
    const { name } = executor.useParams();
    return <ExecutorPage key={name} name={name} />;
  },
});
const node = createRoute({
  getParentRoute: () => root,
  path: "/nodes/$name",
  loader: () => NodePage.preload?.(),
  component: function NodeRoute() {
    const { name } = node.useParams();
    return <NodePage key={name} name={name} />;
  },
});

export const router = createRouter({
  routeTree: root.addChildren([overview, queues, queue, workloads, workload, submit, needsAttention, ...moved, topology, preemptions, round, events, whatIf, simulations, simulation, lab, backtests, configuration.addChildren([configuredKinds, configuredKind, configuredObject]), cycles, cycle, executors, executor, node]),
  // Only a slow network shows that a page is being fetched.
  defaultPendingComponent: () => <Skeleton rows={8} />,
  defaultPendingMs: 200,
  // Once fetched, a page replaces what says so at once.
  defaultPendingMinMs: 0,
  // A page that fails leaves the frame around it standing.
  defaultErrorComponent: PageFailure,
  // Parameters are plain text, so that addresses stay short and can be typed.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(search as Record<string, string>).toString();
    return text === "" ? "" : `?${text}`;
  },
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
