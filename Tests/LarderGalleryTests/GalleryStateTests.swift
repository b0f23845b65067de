import LarderGallery
import Testing

@Suite struct GalleryStateTests {
    /// They are words of the command line and of output.
    @Test func namesAreLowerCase() {
        for name in GalleryState.allCases.map(\.rawValue) {
            #expect(name == name.lowercased() && !name.isEmpty)
        }
    }
}
