import Testing

@testable import LarderServer

@Suite struct RequestedRangeTests {
    @Test(
        arguments: [
            ("bytes=0-0", .part(0..<1)), ("bytes=10-19", .part(10..<20)),
            ("bytes=90-", .part(90..<100)), ("bytes=-10", .part(90..<100)),
            ("bytes=-1000", .part(0..<100)), ("bytes=99-1000", .part(99..<100)),
            ("BYTES=1-2", .part(1..<3)), ("bytes= 1-2 ", .part(1..<3)),
            ("bytes=0-99999999999999999999999999", .part(0..<100)),
            ("bytes=100-", .none), ("bytes=-0", .none), ("bytes=99999999999999999999-", .none),
            ("bytes=5-4", .whole), ("bytes=a-b", .whole), ("bytes=", .whole), ("bytes=-", .whole),
            ("bytes", .whole), ("items=0-1", .whole), ("bytes=0-1,5-6", .whole),
            ("bytes=+1-2", .whole), ("bytes=1--2", .whole), ("", .whole),
        ] as [(String, RequestedRange)])
    func rangesOfAHundredBytesAreParsed(_ field: String, _ range: RequestedRange) {
        #expect(RequestedRange(field, size: 100) == range)
    }

    @Test func aMissingRangeOrAnEmptyBodyHasNoPart() {
        #expect(RequestedRange(nil, size: 100) == .whole)
        #expect(RequestedRange("bytes=0-", size: 0) == .none)
        #expect(RequestedRange("bytes=-5", size: 0) == .none)
    }
}
