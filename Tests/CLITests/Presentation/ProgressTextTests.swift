import LarderCache
import Testing

@testable import LarderPrefetch
@testable import larder

@Suite struct ProgressTextTests {
    @Test func progressShowsCountBytesRateFailuresAndTimeLeft() {
        var progress = Progress()
        progress.total = 100
        #expect(progress.secondsLeft == nil)
        (progress.arrived, progress.done) = (25, 25)
        progress.failed = 2
        progress.receivedBytes = 10_000_000
        progress.seconds = 5
        #expect(progress.text.whole == "25/100  10.0 MB  2.0 MB/s  2 failed  15 s left")
    }

    @Test func progressShowsStoredInFlightAndWaitingCounts() {
        var progress = Progress()
        (progress.total, progress.arrived, progress.done) = (30, 3, 1)
        (progress.underWay, progress.waiting, progress.secondsToAttempt) = (4, 23, 2.1)
        progress.seconds = 1
        #expect(
            progress.text.whole
                == "3/30  1 stored  4 in flight  23 waiting to retry  next in 3 s  0 B  0 B/s"
                + "  0 failed  9.0 s left")
    }

    @Test(arguments: [
        (
            200,
            "3/30  1 stored  4 in flight  27 waiting to retry  next in 3 s  1.0 kB  1.0 kB/s"
                + "  2 failed  9.0 s left"
        ),
        (79, "3/30  27 waiting to retry  next in 3 s  1.0 kB  1.0 kB/s  2 failed  9.0 s left"),
        (60, "3/30  27 waiting to retry  next in 3 s  2 failed  9.0 s left"),
        (39, "3/30  27 waiting to retry  next in 3 s"), (24, "3/30  27 to retry"),
        (4, "3/30"), (3, "3/…"), (0, ""),
    ])
    func aNarrowProgressLineKeepsTheMostImportantParts(_ columns: Int, _ line: String) {
        var progress = Progress()
        (progress.total, progress.arrived, progress.done, progress.failed) = (30, 3, 1, 2)
        (progress.underWay, progress.waiting, progress.secondsToAttempt) = (4, 27, 3)
        (progress.receivedBytes, progress.seconds) = (1000, 1)
        #expect(progress.text.fitted(to: columns) == line)
    }

    @Test func verifyProgressShowsTimeLeftIfTheTotalIsKnown() {
        var progress = ObjectProgress()
        progress.objects = 25
        progress.bytes = 4_000_000
        progress.findings = 2
        progress.seconds = 2
        #expect(progress.text.whole == "25 objects  4.0 MB  2.0 MB/s  2 found")
        progress.total = 100
        #expect(
            progress.text.whole == "25/100 objects  4.0 MB  2.0 MB/s  2 found  6.0 s left")
    }

    @Test func objectProgressShowsCountBytesRateAndTimeLeft() {
        var progress = ObjectProgress()
        (progress.objects, progress.bytes, progress.seconds) = (25, 4_000_000, 5)
        #expect(progress.text("evicted").whole == "25 objects evicted  4.0 MB  5/s")
        progress.total = 100
        #expect(
            progress.text("evicted").whole == "25/100 objects evicted  4.0 MB  5/s  15 s left")
        #expect(progress.text("evicted").fitted(to: 24) == "25/100 objects evicted")
        #expect(progress.text("evicted").fitted(to: 20) == "25/100 objects")
    }

    @Test func planProgressShowsManifestIconsRateAndTimeLeft() {
        var progress = PlanProgress()
        progress.manifest = "漢字\u{1B}[2J.json"
        (progress.icons, progress.share) = (20_000, 0.25)
        (progress.seconds, progress.secondsOfManifest) = (2, 1)
        #expect(
            progress.text.whole
                == "reading 漢字\\u{1B}[2J.json  20000 icons  10000/s  3.0 s left")
        #expect(progress.text.fitted(to: 24) == "20000 icons  3.0 s left")
        progress.manifest = nil
        #expect(progress.text.whole == "comparing 20000 icons with the cache")
    }
}
