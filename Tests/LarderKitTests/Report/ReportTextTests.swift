import LarderCache
import Testing

@testable import LarderKit

@Suite struct ReportTextTests {
    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1_550, "1.6 kB"), (999_949, "999.9 kB"),
        (999_950, "1.0 MB"), (45_200_000, "45.2 MB"), (7_000_000_000, "7.0 GB"),
    ])
    func describesByteCounts(bytes: Int64, text: String) {
        #expect(ByteText.describe(bytes) == text)
    }

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
