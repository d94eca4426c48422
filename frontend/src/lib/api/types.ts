// What the API answers, by the names this interface uses; generated from the API's own description.
import type { components } from "./generated/schema";

type Schemas = components["schemas"];

export type Fact = Schemas["EventView"];
export type EventPage = Schemas["EventPage"];
export type EventGroup = Schemas["EventGroup"];
export type Histogram = Schemas["Histogram"];
export type Identity = Schemas["CurrentIdentity"];
export type TokenDetail = Schemas["TokenDetail"];
export type Cause = Schemas["Cause"];
export type Causes = Schemas["Causes"];
export type AlertRule = Schemas["AlertRule"];
export type ClosedCause = Schemas["ClosedCause"];
export type Webhook = Schemas["WebhookObject"];
export type Delivery = Schemas["DeliveryView"];
export type SystemStatus = Schemas["SystemView"];
export type CapacityHistory = Schemas["CapacityHistory"];
export type UsageGrouping = CapacityHistory["by"];
export type CapacityPoint = Schemas["CapacityPoint"];
export type MarkList = Schemas["MarkList"];
export type WaitTimes = Schemas["WaitHistogram"];
export type QueueRow = Schemas["QueueRow"];
export type QueueSummary = Schemas["QueueSummary"];
export type TopologyFits = Schemas["TopologyFits"];

export type Executor = Schemas["ExecutorObject"];
export type Node = Schemas["NodeObject"];
export type NodeAllocation = Schemas["NodeAllocation"];
export type NodeWorkload = Schemas["NodeWorkload"];
export type SavedView = Schemas["SavedViewDetail"];
export type WorkloadRow = Schemas["WorkloadRow"];
export type WorkloadRowPage = Schemas["WorkloadRowPage"];
export type SelectedWorkload = Schemas["SelectedWorkload"];
export type WorkloadGroup = Schemas["WorkloadGroup"];
export type WorkloadObject = Schemas["WorkloadObject"];
export type Phase = Schemas["WorkloadStatus"]["phase"];
/** The word a workload is shown with: its phase, or the verdict on a pending one that can never start. */
export type Status = Phase | "Unschedulable";
export type Condition = Schemas["Condition"];
export type PodSet = Schemas["PodSet"];
export type PodSetAssignment = Schemas["PodSetAssignment"];
export type Eviction = Schemas["Eviction"];
export type Explanation = Schemas["ExplanationView"];
export type SpecEdit = Schemas["SpecEdit"];
export type Blocker = Schemas["BlockerView"];
export type TimelinePage = Schemas["Timeline"];
export type TimelineEntry = Schemas["TimelineEntry"];

export type StuckWorkload = Schemas["StuckWorkloadView"];
export type StuckWorkloads = Schemas["StuckWorkloads"];
export type BulkResult = Schemas["BulkResult"];
export type Batch = Schemas["Batch"];

export type QueueNode = Schemas["QueueNode"];
export type QuotaLine = Schemas["QueueLine"];
export type QueueCounts = Schemas["QueueCounts"];
export type LocalQueueObject = Schemas["LocalQueueObject"];
export type PendingWorkload = Schemas["PendingWorkload"];
export type UsagePoint = Schemas["UsagePoint"];

export type TopologyMap = Schemas["TopologyMap"];
export type HostWorkload = Schemas["HostWorkload"];
export type WorkloadsOnHost = Schemas["WorkloadsOnHost"];
export type LevelFit = Schemas["LevelFitView"];
export type FragmentationPoint = Schemas["FragmentationPoint"];
export type NearFit = Schemas["NearFitView"];
export type Departure = Schemas["DepartureView"];

export type PreemptionSummary = Schemas["PreemptionSummary"];
export type Round = Schemas["PreemptionRound"];
export type RoundVictim = Schemas["Victim"];

export type Cycle = Schemas["CycleView"];
export type CycleSummary = Schemas["CycleSummary"];
export type CycleDetail = Schemas["CycleDetail"];
export type CycleRerun = Schemas["CycleRerun"];

export type References = Schemas["References"];
export type Advice = Schemas["AdviceView"];
export type Revision = Schemas["Revision"];
export type Simulation = Schemas["SimulationView"];
export type Foreseen = Schemas["ForeseenView"];
export type Effect = Schemas["EffectView"];

/** A what-if that was recorded, or a backtest, as the list of simulations has it. */
export type SimulationRecord = Schemas["RecordView"];
export type Backtest = Schemas["BacktestView"];
export type BacktestResult = Schemas["BacktestResult"];
export type PredictionList = Schemas["PredictionList"];
export type Prediction = Schemas["PredictionView"];
export type ApplyResults = Schemas["ApplyResults"];

export type Pod = Schemas["PodView"];
export type PodPage = Schemas["WorkloadPodPage"];
export type AttemptSummary = Schemas["AttemptSummary"];
