import Testing

@testable import LarderCore

@Suite struct ByteTextTests {
    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1_550, "1.6 kB"), (999_949, "999.9 kB"),
        (999_950, "1.0 MB"), (45_200_000, "45.2 MB"), (7_000_000_000, "7.0 GB"),
    ])
    func byteCountsAreDescribedInDecimalUnits(bytes: Int64, text: String) {
        #expect(ByteText.describe(bytes) == text)
    }
}
