import Pace

@testable import LarderImages

/// Inspects an input as an SVG.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSVG(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    for bytes in [bytes, Pace.stretched(bytes)].compactMap(\.self) {
        Pace.keep(bytes.count) {
            bytes.withUnsafeBytes { bytes in
                guard let info = try? SVGStructure.inspect(bytes) else { return }
                guard info.width ?? 1 > 0, info.height ?? 1 > 0 else {
                    fatalError("no size: \(info)")
                }
            }
        }
    }
    return 0
}
