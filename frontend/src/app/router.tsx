// Every page and its address.
import { createRootRoute, createRoute, createRouter } from "@tanstack/react-router";

import { Empty, Failed } from "@/components/ui/states";
import { Go } from "@/components/ui/go";
import { CyclePage } from "@/features/cycles/components/cycle-page";
import { CyclesPage } from "@/features/cycles/components/cycles-page";
import { EventsPage } from "@/features/events/components/events-page";
import { HistoryPage } from "@/features/history/components/history-page";
import { InboxPage } from "@/features/inbox/components/inbox-page";
import { OverviewPage } from "@/features/overview/components/overview-page";
import { PreemptionsPage } from "@/features/preemptions/components/preemptions-page";
import { RoundPage } from "@/features/preemptions/components/round-page";
import { QueuePage } from "@/features/queues/components/queue-page";
import { QueuesPage } from "@/features/queues/components/queues-page";
import { TopologyPage } from "@/features/topology/components/topology-page";
import { WhatIfPage } from "@/features/what-if/components/what-if-page";
import { WorkloadPage } from "@/features/workloads/components/workload-page";
import { WorkloadsPage } from "@/features/workloads/components/workloads-page";

import { Frame } from "./frame";

const root = createRootRoute({
  component: Frame,
  notFoundComponent: () => (
    <Empty title="There is no such page">
      <p>
        Go to the <Go to="/">overview</Go>.
      </p>
    </Empty>
  ),
  errorComponent: ({ error, reset }) => <Failed error={error} onRetry={reset} />,
});

const overview = createRoute({ getParentRoute: () => root, path: "/", component: OverviewPage });
const queues = createRoute({ getParentRoute: () => root, path: "/queues", component: QueuesPage });
const queue = createRoute({
  getParentRoute: () => root,
  path: "/queues/$name",
  component: function QueueRoute() {
    const { name } = queue.useParams();
    return <QueuePage key={name} name={name} />;
  },
});
const workloads = createRoute({ getParentRoute: () => root, path: "/workloads", component: WorkloadsPage });
const workload = createRoute({
  getParentRoute: () => root,
  path: "/workloads/$namespace/$name",
  component: function WorkloadRoute() {
    const { namespace, name } = workload.useParams();
    return <WorkloadPage key={`${namespace}/${name}`} workloadKey={`${namespace}/${name}`} />;
  },
});
const inbox = createRoute({ getParentRoute: () => root, path: "/inbox", component: InboxPage });
const topology = createRoute({ getParentRoute: () => root, path: "/topology", component: TopologyPage });
const preemptions = createRoute({ getParentRoute: () => root, path: "/preemptions", component: PreemptionsPage });
const round = createRoute({
  getParentRoute: () => root,
  path: "/preemptions/$id",
  component: function RoundRoute() {
    const { id } = round.useParams();
    return <RoundPage key={id} id={id} />;
  },
});
const events = createRoute({ getParentRoute: () => root, path: "/events", component: EventsPage });

const whatIf = createRoute({ getParentRoute: () => root, path: "/what-if", component: WhatIfPage });
const history = createRoute({ getParentRoute: () => root, path: "/history", component: HistoryPage });
const cycles = createRoute({ getParentRoute: () => root, path: "/cycles", component: CyclesPage });
const cycle = createRoute({
  getParentRoute: () => root,
  path: "/cycles/$id",
  component: function CycleRoute() {
    const { id } = cycle.useParams();
    return <CyclePage key={id} id={id} />;
  },
});

export const router = createRouter({
  routeTree: root.addChildren([overview, queues, queue, workloads, workload, inbox, topology, preemptions, round, events, whatIf, history, cycles, cycle]),
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
