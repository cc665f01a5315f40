// Search of a ColBERTv2 index: late interaction over compressed token vectors that are never unpacked.
//
// A token vector is stored as a centroid's number and a residual of `nbits` bits per dimension. Its dot product with a
// query token is the centroid's, which is found for all centroids first, plus the residual's. The latter is read from a
// table: what each byte of a residual, at each of its places, adds to the dot product of each query token. So a token
// vector costs as many table rows as its residual has bytes, for all query tokens at once.
//
// A search runs in the thread that asks for it: several at a time take a core each, and none waits for another's threads.
//
// Plain C at its border: no header of Python or torch, so that it compiles in seconds and fits every version of both.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <vector>

// One library for all processors of a kind: the loader takes the variant that this one can run.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__)
#define EVERY_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EVERY_PROCESSOR
#endif
#define INLINE inline __attribute__((always_inline))

namespace {

constexpr int LANES = 16;
constexpr int BLOCK = 32;  // query tokens whose scores are kept in registers
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

struct Row {
    Lanes low, high;
};

INLINE Row load(const float* from) {
    const Lanes* lanes = reinterpret_cast<const Lanes*>(from);
    return {lanes[0], lanes[1]};
}
INLINE void store(float* to, const Row& row) {
    Lanes* lanes = reinterpret_cast<Lanes*>(to);
    lanes[0] = row.low;
    lanes[1] = row.high;
}
INLINE void add(Row& to, const Row& more) {
    to.low += more.low;
    to.high += more.high;
}
INLINE void keep_larger(Row& best, const Row& other) {
    best.low = other.low > best.low ? other.low : best.low;
    best.high = other.high > best.high ? other.high : best.high;
}
INLINE float sum(const Row& row) {
    float total = 0;
    for (int lane = 0; lane < LANES; lane++) total += row.low[lane] + row.high[lane];
    return total;
}

struct Scored {
    float score;
    int32_t position;
    bool operator<(const Scored& other) const {
        return score != other.score ? score > other.score : position < other.position;
    }
};

void keep_best(std::vector<Scored>& found, size_t count) {
    if (count >= found.size()) return;
    std::nth_element(found.begin(), found.begin() + count, found.end());
    found.resize(count);
}

}  // namespace

extern "C" {

// What of an index a search reads; the arrays belong to the caller. P passages, N token vectors, C centroids.
struct Index {
    int64_t passages, centroids, dim, nbits;
    const float* centroid;      // (C, dim)
    const float* weight;        // (256, 8 / nbits): what the bits of a byte stand for
    const int32_t* code;        // (N,): each token vector's centroid
    const uint8_t* residual;    // (N, dim · nbits / 8)
    const int64_t* first;       // (P + 1,): where a passage's token vectors begin
    const int32_t* member;      // the passages that each centroid occurs in, one centroid after the other
    const int64_t* first_member;  // (C + 1,)
};

// A query and how thoroughly to search.
struct Asked {
    int64_t tokens, cells, candidates, documents, k;
    int64_t least;           // if the probed cells hold fewer passages, all others may be found, too
    const float* vector;     // (tokens, dim)
    const uint8_t* allowed;  // (P,): which passages may be found; all if null
};

}  // extern "C"

namespace {

struct Query : Asked {
    int64_t width;              // `tokens`, rounded up to a multiple of BLOCK; what is past them is 0
    std::vector<float> column;  // (dim, width): the vectors, transposed
    std::vector<float> score;   // (C, width): the dot products with all centroids
};

// The dot products of the query's tokens with all centroids, a few centroids at a time to use every register.
EVERY_PROCESSOR void score_centroids(const Index& index, Query& query) {
    constexpr int AT_ONCE = 4;
    for (int64_t begin = 0; begin < index.centroids; begin += AT_ONCE) {
        const int64_t count = std::min<int64_t>(AT_ONCE, index.centroids - begin);
        const float* centroid[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) centroid[i] = index.centroid + std::min(begin + i, begin + count - 1) * index.dim;
        for (int64_t block = 0; block < query.width; block += BLOCK) {
            Row total[AT_ONCE] = {};
            for (int64_t d = 0; d < index.dim; d++) {
                const Row own = load(query.column.data() + d * query.width + block);
                for (int i = 0; i < AT_ONCE; i++) {
                    total[i].low += own.low * centroid[i][d];
                    total[i].high += own.high * centroid[i][d];
                }
            }
            for (int i = 0; i < count; i++) store(query.score.data() + (begin + i) * query.width + block, total[i]);
        }
    }
}

Query prepare(const Index& index, const Asked& asked) {
    Query query{asked, (asked.tokens + BLOCK - 1) / BLOCK * BLOCK, {}, {}};
    query.column.assign(index.dim * query.width, 0);
    for (int64_t token = 0; token < query.tokens; token++)
        for (int64_t d = 0; d < index.dim; d++)
            query.column[d * query.width + token] = query.vector[token * index.dim + d];
    query.score.resize(index.centroids * query.width);
    score_centroids(index, query);
    return query;
}

// The cells that each query token probes: those of its best centroids.
EVERY_PROCESSOR void best_cells(const Index& index, const Query& query, std::vector<Scored>& cells) {
    const int64_t count = std::min(query.cells, index.centroids), width = query.width;
    cells.assign(query.tokens * count, {-std::numeric_limits<float>::infinity(), -1});
    std::vector<float> least(width, std::numeric_limits<float>::infinity());
    std::fill_n(least.begin(), query.tokens, -std::numeric_limits<float>::infinity());
    for (int64_t centroid = 0; centroid < index.centroids; centroid++) {
        const float* row = query.score.data() + centroid * width;
        int any = 0;
        for (int64_t token = 0; token < width; token++) any |= row[token] > least[token];
        if (!any) continue;
        for (int64_t token = 0; token < query.tokens; token++) {
            if (!(row[token] > least[token])) continue;
            Scored* own = cells.data() + token * count;
            *std::max_element(own, own + count) = {row[token], static_cast<int32_t>(centroid)};  // the worst is "largest"
            least[token] = std::max_element(own, own + count)->score;
        }
    }
}

// All passages in a probed cell. A token that finds a passage in none of its cells is taken to score there as in the
// worst of them, which is what it scores at most. A passage in no probed cell comes after all others.
void probe(const Index& index, const Query& query, std::vector<Scored>& found) {
    thread_local std::vector<float> gain;    // per passage, above what it would score if it stood in no cell
    thread_local std::vector<int32_t> seen;  // per passage, the last token that met it, from 1
    thread_local bool cleared = false;       // whether both are 0: not after a search that memory did not suffice for
    if (!cleared || static_cast<int64_t>(gain.size()) < index.passages) {
        gain.assign(index.passages, 0);
        seen.assign(index.passages, 0);
    }
    cleared = false;
    std::vector<Scored> cells;
    best_cells(index, query, cells);
    const int64_t count = std::min(query.cells, index.centroids);
    float floor = 0;
    found.clear();
    for (int64_t token = 0; token < query.tokens; token++) {
        Scored* own = cells.data() + token * count;
        std::sort(own, own + count);
        const float worst = own[count - 1].score;
        floor += worst;
        for (int64_t cell = 0; cell < count; cell++) {
            const int32_t centroid = own[cell].position;
            const float more = own[cell].score - worst;
            for (int64_t at = index.first_member[centroid]; at < index.first_member[centroid + 1]; at++) {
                const int32_t passage = index.member[at];
                if (query.allowed && !query.allowed[passage]) continue;
                if (seen[passage] == token + 1) continue;  // a better cell of this token held it
                if (!seen[passage]) found.push_back({0, passage});
                seen[passage] = token + 1;
                gain[passage] += more;
            }
        }
    }
    const size_t met = found.size();
    if (static_cast<int64_t>(met) < query.least)
        for (int64_t passage = 0; passage < index.passages; passage++)
            if (!seen[passage] && index.first[passage] < index.first[passage + 1] &&  // a removed one has no vectors
                (!query.allowed || query.allowed[passage]))
                found.push_back({-std::numeric_limits<float>::infinity(), static_cast<int32_t>(passage)});
    for (size_t i = 0; i < met; i++) {
        Scored& one = found[i];
        one.score = floor + gain[one.position];
        gain[one.position] = 0;
        seen[one.position] = 0;
    }
    cleared = true;
}

// MaxSim with every token vector taken for its centroid (PLAID's centroid interaction).
EVERY_PROCESSOR void score_by_centroids(const Index& index, const Query& query, std::vector<Scored>& found) {
    for (Scored& one : found) {
        const int64_t begin = index.first[one.position], end = index.first[one.position + 1];
        one.score = 0;
        for (int64_t block = 0; block < query.width; block += BLOCK) {
            Row best = {};
            for (int64_t at = begin; at < end; at++)
                keep_larger(best, load(query.score.data() + index.code[at] * query.width + block));
            one.score += sum(best);
        }
    }
}

// For a block of query tokens: what each byte at each place of a residual adds to each dot product.
template <int PER_BYTE>
INLINE void make_table(const Index& index, const Query& query, int64_t block, std::vector<float>& table) {
    const int64_t places = index.dim / PER_BYTE;
    table.resize(places * 256 * BLOCK);
    for (int64_t place = 0; place < places; place++)
        for (int byte = 0; byte < 256; byte++) {
            Row row = {};
            for (int part = 0; part < PER_BYTE; part++) {
                const Row own = load(query.column.data() + (place * PER_BYTE + part) * query.width + block);
                const float weight = index.weight[byte * PER_BYTE + part];
                row.low += own.low * weight;
                row.high += own.high * weight;
            }
            store(table.data() + (place * 256 + byte) * BLOCK, row);
        }
}

// One over the length of a token vector, which decompression leaves a little off 1.
template <int PER_BYTE>
INLINE float inverse_norm(const Index& index, int64_t at) {
    const int64_t places = index.dim / PER_BYTE;
    const float* centroid = index.centroid + index.code[at] * index.dim;
    const uint8_t* residual = index.residual + at * places;
    float squares[PER_BYTE] = {};
    for (int64_t place = 0; place < places; place++)
        for (int part = 0; part < PER_BYTE; part++) {
            const float value = centroid[place * PER_BYTE + part] + index.weight[residual[place] * PER_BYTE + part];
            squares[part] += value * value;
        }
    return 1 / std::max(std::sqrt(std::accumulate(squares, squares + PER_BYTE, 0.0f)), 1e-12f);
}

template <int PER_BYTE>
INLINE void score(const Index& index, const Query& query, std::vector<Scored>& found) {
    thread_local std::vector<float> table;
    const int64_t places = index.dim / PER_BYTE;
    for (Scored& one : found) one.score = 0;
    for (int64_t block = 0; block < query.width; block += BLOCK) {
        make_table<PER_BYTE>(index, query, block, table);
        for (Scored& one : found) {
            Row best = {};
            for (int64_t at = index.first[one.position]; at < index.first[one.position + 1]; at++) {
                const uint8_t* residual = index.residual + at * places;
                Row row = load(query.score.data() + index.code[at] * query.width + block);
                for (int64_t place = 0; place < places; place++)
                    add(row, load(table.data() + (place * 256 + residual[place]) * BLOCK));
                const float scale = inverse_norm<PER_BYTE>(index, at);
                row.low *= scale;
                row.high *= scale;
                keep_larger(best, row);
            }
            one.score += sum(best);
        }
    }
}

// MaxSim with the token vectors as they are stored.
EVERY_PROCESSOR void score_1_bit(const Index& index, const Query& query, std::vector<Scored>& found) {
    score<8>(index, query, found);
}
EVERY_PROCESSOR void score_2_bits(const Index& index, const Query& query, std::vector<Scored>& found) {
    score<4>(index, query, found);
}
EVERY_PROCESSOR void score_4_bits(const Index& index, const Query& query, std::vector<Scored>& found) {
    score<2>(index, query, found);
}

void score_exactly(const Index& index, const Query& query, std::vector<Scored>& found) {
    (index.nbits == 1 ? score_1_bit : index.nbits == 2 ? score_2_bits : score_4_bits)(index, query, found);
}

}  // namespace

// Write the best passages and their scores, best first; return how many, or -1 if there is not enough memory.
extern "C" int64_t polyqa_search(const Index* index, const Asked* asked, int32_t* position, float* score) {
    try {
        const Query query = prepare(*index, *asked);
        std::vector<Scored> found;
        probe(*index, query, found);
        keep_best(found, query.candidates);
        if (static_cast<int64_t>(found.size()) > query.documents) {
            score_by_centroids(*index, query, found);
            keep_best(found, query.documents);
        }
        score_exactly(*index, query, found);
        keep_best(found, query.k);
        std::sort(found.begin(), found.end());
        for (size_t i = 0; i < found.size(); i++) {
            position[i] = found[i].position;
            score[i] = found[i].score;
        }
        return found.size();
    } catch (const std::bad_alloc&) {
        return -1;
    }
}
