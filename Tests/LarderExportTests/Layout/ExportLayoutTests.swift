import LarderExport
import Testing

@Suite struct ExportLayoutTests {
    /// They are words of the command line and of output.
    @Test func namesAreLowerCase() {
        for name in ExportLayout.allCases.map(\.rawValue) {
            #expect(name == name.lowercased() && !name.isEmpty)
        }
    }
}
