import ArgumentParser
import LarderExport

/// The layout of `import`: those that can be imported are shown. All are taken, so that the others
/// can be refused with the reason.
struct ImportLayout: ExpressibleByArgument {
    let layout: ExportLayout

    init?(argument: String) {
        guard let layout = ExportLayout(rawValue: argument) else { return nil }
        self.layout = layout
    }

    static var allValueStrings: [String] {
        ExportLayout.allCases.filter(\.isImportable).map(\.rawValue)
    }
}
