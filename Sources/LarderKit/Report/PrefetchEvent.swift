import LarderCache

/// What happens during a run, in order.
public enum PrefetchEvent: Sendable {
    /// The cache's index was damaged or gone, and was rebuilt. The first event, if it comes.
    case recovered(RecoveryReport)
    /// How far the reading of manifests is; a few times a second.
    case planning(PlanProgress)
    /// All manifests were read and compared with the cache; requests begin.
    case planned(PlanSummary)
    /// An entry is settled. One for each entry of the manifests.
    case entry(EntryResult)
    /// How far the run is; a few times a second.
    case progress(Progress)
    /// The run has ended. The last event.
    case finished(Report)
}
