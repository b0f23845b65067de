import Foundation
import LarderCache
import LarderKit

extension CacheStatus {
    /// The status for people, a few lines.
    package func text(_ paint: Paint = .none) -> String {
        let stale = totals.resources - totals.freshResources
        return """
            cache      \(path.sanitizedForTerminal)
            objects    \(totals.objects), \(ByteText.describe(totals.bytes)) \
            (\(ByteText.describe(diskBytes)) on disk)
            resources  \(totals.resources), \(totals.freshResources) fresh, \
            \(stale > 0 ? paint.stale("\(stale) stale") : "0 stale")
            index      \(ByteText.describe(indexBytes))
            """
                + (totals.failures > 0
                    ? "\nfailures   " + paint.failed("\(totals.failures) remembered") : "")
                + (totals.pins > 0 ? "\npins       \(totals.pins)" : "")
                + (unreadable > 0 ? "\nunreadable \(unreadable) directories of objects" : "")
                + (quarantined > 0 ? "\nquarantine \(quarantined.of("file"))" : "")
                + runs.map { "\n\($0.text(paint))" }.joined()
    }
}

extension RunRecord {
    /// `prefetch   ended 2026-11-21T02:00:05Z after 12 s with status 0`.
    fileprivate func text(_ paint: Paint) -> String {
        let name = command.rawValue.padding(toLength: 11, withPad: " ", startingAt: 0)
        return "\(name)ended \(UTCTime.timestamp(ended)) after \(DurationText.describe(seconds))"
            + " with " + (exitStatus == 0 ? "status 0" : paint.failed("status \(exitStatus)"))
    }
}
