import Foundation

// Measures reads of icons in an app, compared with minimal code for the same task:
//
//     icon-reads [memory] [disk] [busy] [scroll] [ROUNDS]
//
//   memory   hits of MemoryCache, compared with a dictionary with a lock
//   disk     reads of IconCache, compared with read(2) of the same files
//   busy     latency of disk reads while two other processes store and evict
//   scroll   memory during a scroll through a million rows
//
// The default is all parts. Each round measures everything once, so that other load affects all
// measurements equally.

var words = Array(CommandLine.arguments.dropFirst())
let rounds = words.last.flatMap { Int($0) } ?? 7
if words.last.flatMap({ Int($0) }) != nil { words.removeLast() }

switch words.first {
// The child processes of `busy`.
case "store": try Disturbance.store(in: words[1])
case "evict": try Disturbance.evict(from: words[1])
default:
    let parts = words.isEmpty ? ["memory", "disk", "busy", "scroll"] : words
    for part in parts {
        switch part {
        case "memory": memoryHits(rounds: rounds)
        case "disk": try await DiskReads.run(rounds: rounds)
        case "busy": try await BusyReads.run()
        case "scroll": try await Scroll.run()
        default:
            print("unknown part: \(part)")
            exit(64)
        }
    }
}
