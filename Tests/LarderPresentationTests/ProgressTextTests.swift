import LarderCache
import LarderPresentation
import Testing

@testable import LarderKit

@Suite struct ProgressTextTests {
    @Test func progressTellsCountBytesRateFailuresAndTimeLeft() {
        var progress = Progress()
        progress.total = 100
        #expect(progress.secondsLeft == nil)
        progress.done = 25
        progress.failed = 2
        progress.receivedBytes = 10_000_000
        progress.seconds = 5
        #expect(progress.text == "25/100  10.0 MB  2.0 MB/s  2 failed  15 s left")
    }

    @Test func verificationsProgressSaysWhatIsKnown() {
        var progress = VerifyProgress()
        progress.objects = 25
        progress.bytes = 4_000_000
        progress.findings = 2
        progress.seconds = 2
        #expect(progress.text == "25 objects  4.0 MB  2.0 MB/s  2 found")
        progress.total = 100
        #expect(progress.text == "25/100 objects  4.0 MB  2.0 MB/s  2 found  6.0 s left")
    }
}
