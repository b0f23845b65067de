import LarderTestSupport
import Testing

@testable import LarderIcons

@Suite struct TurnQueueTests {
    /// The model is a list with a linear search.
    @Test(arguments: 0..<8) func theTurnQueueAgreesWithAListModel(seed: Int) {
        var random = Pseudorandom(seed: seed)
        var queue = TurnQueue()
        var model: [(key: String, priority: IconPriority)] = []
        for _ in 0..<5_000 {
            let key = "\(random.next(below: 300))"
            let place = model.firstIndex { $0.key == key }
            switch random.next(below: 10) {
            case 0..<6:
                let priority = IconPriority.allCases[random.next(below: 5)]
                queue.insert(key, priority)
                if let place, model[place].priority == priority { break }
                if let place { model.remove(at: place) }
                model.append((key, priority))
            case 6..<8:
                queue.remove(key)
                if let place { model.remove(at: place) }
            default:
                let best = model.indices.max {
                    (model[$0].priority, -$0) < (model[$1].priority, -$1)
                }
                #expect(queue.next() == best.map { model[$0].key })
                if let best { model.remove(at: best) }
            }
            #expect(queue.count == model.count)
            #expect(queue.contains(key) == model.contains { $0.key == key })
        }
    }
}
