import ArgumentParser
import LarderExport
import LarderImages

struct ResizeOptions: ParsableArguments {
    private static let kept = ImageFormat.all.filter { $0.isVector || !$0.isResizable }
        .map(\.mediaType.name)

    @Option(
        help: .common(
            """
            Make larger icons smaller, to this length of the longest side at scale 1. Needs the \
            program vipsthumbnail. \(Self.kept.joined(separator: ", ")) and animations are not \
            changed.
            """, "pixels"))
    var resize: Int?

    @Option(
        help: .common(
            """
            The scales to write with --resize, for example 1,2,3, the default. A library's layout \
            has only the largest.
            """, "list"), transform: Self.scales)
    var scales: Set<Int>?

    private static func scales(_ argument: String) throws -> Set<Int> {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
        let scales = Set(parts.filter(\.isDigits).compactMap { Int($0) })
        let allowed = Resize.allowedScales
        guard scales.count == parts.count, scales.allSatisfy(allowed.contains) else {
            throw ValidationError(
                "expected different numbers from \(allowed.lowerBound) to \(allowed.upperBound), "
                    + "such as 1,2,3")
        }
        return scales
    }

    func value(for layout: ExportLayout) throws -> Resize? {
        guard let resize else {
            if scales != nil { throw ValidationError("--scales needs --resize.") }
            return nil
        }
        try refuse("--resize", resize, outside: Resize.allowedPoints)
        try refuse(if: layout == .gallery, "--resize needs a --layout other than gallery.")
        let scales = scales ?? [1, 2, 3]
        try refuse(
            if: layout == .assetCatalog && scales.contains(4),
            "An asset catalog has no scale above 3.")
        return Resize(points: resize, scales: scales)
    }
}
