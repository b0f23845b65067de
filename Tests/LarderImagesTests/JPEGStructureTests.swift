import LarderImages
import Testing

struct JPEGStructureTests: ImageTests {
    private let start: [UInt8] = [0xFF, 0xD8]
    private let frame = Self.segment(
        0xC0, [8] + Bytes.big(20, 2) + Bytes.big(30, 2) + [1, 1, 0x11, 0])
    private let scan = Self.segment(0xDA, [1, 1, 0, 0, 63, 0])
    private let end: [UInt8] = [0xFF, 0xD9]

    @Test func theSizeOfAJPEGIsRead() throws {
        #expect(
            try inspect(start + frame + scan + [1, 2] + end)
                == ImageInfo(mediaType: .jpeg, width: 30, height: 20))
    }

    @Test(arguments: [0xC0, 0xC1, 0xC2, 0xC3, 0xC9, 0xCA] as [UInt8])
    func everyKindOfJPEGFrameIsAccepted(marker: UInt8) {
        var file = start + frame + scan + [1] + scan + [2] + end
        file[3] = marker
        #expect(fault(file) == nil)
    }

    @Test func stuffedBytesFillBytesAndRestartsDoNotEndAJPEG() {
        let data: [UInt8] = [
            1, 0xFF, 0x00, 2, 0xFF, 0xD0, 3, 0xFF, 0xFF, 0xD1, 0xFF, 0x00, 0xFF, 0xFF,
        ]
        #expect(fault(start + frame + scan + data + end) == nil)
    }

    @Test func aLostRestartIntervalOfAJPEGIsDetected() {
        func picture(restarts: [UInt8]) -> [UInt8] {
            var picture = start + frame + scan
            for number in restarts { picture += [5, 0xFF, 0xD0 + number, 5] }
            return picture + end
        }
        #expect(fault(picture(restarts: [0, 1, 2, 3, 4, 5, 6, 7, 0, 1])) == nil)
        #expect(fault(picture(restarts: [0, 2]))?.code == .damaged)
    }

    @Test func anEndMarkerInsideASegmentDoesNotEndAJPEG() {
        let thumbnail = Self.segment(0xE1, start + frame + end)
        #expect(fault(start + thumbnail + frame + scan + [1] + end) == nil)
        #expect(fault(start + thumbnail + frame + scan + [1])?.code == .truncated)
    }

    @Test func bytesAfterTheEndOfAJPEGAreIgnored() {
        #expect(fault(start + frame + scan + [1] + end + [0, 0, 0]) == nil)
    }

    /// A comment or a profile can state a wrong length.
    @Test func wrongLengthsOfJPEGApplicationSegmentsAreAccepted() {
        for marker in [0xE0, 0xE1, 0xE2, 0xEF, 0xFE] as [UInt8] {
            for length in [0, 1, 2, 4] {
                let segment = [0xFF, marker] + Bytes.big(length, 2) + [UInt8](1...9)
                #expect(fault(start + segment + frame + scan + [1] + end) == nil)
                #expect(fault(start + frame + segment + scan + [1])?.code == .truncated)
            }
        }
        let long: [UInt8] = [0xFF, 0xE1, 0xFF, 0xFF]
        #expect(fault(start + long + frame + scan + [1] + end)?.code == .truncated)
    }

    @Test func strayBytesBetweenJPEGSegmentsAreSkipped() {
        let stray: [UInt8] = [7, 0xFF, 0x00, 9]
        #expect(fault(start + frame + stray + scan + [1] + end) == nil)
        #expect(fault(start + [0xFF, 0xD3, 7] + frame + scan + [1] + end) == nil)
    }

    @Test func theHeightOfAJPEGMayFollowTheFirstScan() throws {
        let open = Self.segment(0xC0, [8] + Bytes.big(0, 2) + Bytes.big(30, 2) + [1, 1, 0x11, 0])
        let lines = Self.segment(0xDC, Bytes.big(77, 2))
        #expect(try inspect(start + open + scan + [1] + lines + end).height == 77)
        expectDamage(start + open + scan + [1] + end, "size")
    }

    @Test func malformedJPEGFilesAreRejected() {
        expectDamage(start + end, "no image")
        expectDamage(start + [0xFF] + frame + end, "no image")
        expectDamage(start + scan + [1] + frame + end, "before its frame")
        expectDamage(start + frame + frame + scan + [1] + end, "two frame")
        expectDamage(start + frame + scan + end, "empty scan")
        expectDamage(start + frame + scan + [1, 0xFF, 0x33] + end, "0x33")
        expectDamage(start + Self.segment(0xC0, [8, 0, 1, 0, 1, 2, 1, 0x11, 0]), "frame header")
        expectDamage(start + frame + Self.segment(0xDA, [5, 1, 0, 0, 63, 0]), "scan header")
        expectDamage(start + [0xFF, 0xDB, 0, 1], "length")
    }

    private static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0xFF, marker] + Bytes.big(content.count + 2, 2) + content
    }
}
