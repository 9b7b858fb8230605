// oneDNN as a contestant for products and convolutions. Activations stay NHWC, as in the protocol; filters may take the layout that the
// library likes best, and their way there is part of the time. Built by install_peers.py.
#include <oneapi/dnnl/dnnl.hpp>

#include <memory>
#include <stdexcept>

#include "protocol.h"

namespace {

using bench::Input;
using bench::Workload;
using dnnl::memory;
using Format = memory::format_tag;

const dnnl::engine engine(dnnl::engine::kind::cpu, 0);

struct Array {
  std::vector<float> values;
  memory::dims shape;
};

memory::desc describe(const memory::dims& shape, Format format) { return {shape, memory::data_type::f32, format}; }
memory over(Array& x, const memory::dims& shape, Format format) { return {describe(shape, format), engine, x.values.data()}; }

Workload workload(const std::shared_ptr<Array>& y, std::function<void()> once) {
  return {[=](long count) {
            for (long i = 0; i < count; ++i) once();
          },
          [=] {
            once();
            return std::vector<std::vector<float>>{y->values};
          }};
}

Workload matmul(const std::vector<std::shared_ptr<Array>>& x) {
  const auto a = x[0], b = x[1], y = std::make_shared<Array>();
  const std::size_t rank = a->shape.size();
  const memory::dim m = a->shape[rank - 2], k = a->shape[rank - 1], n = b->shape[rank - 1];
  y->shape = a->shape;
  y->shape.back() = n;
  y->values.resize(a->values.size() / static_cast<std::size_t>(k) * static_cast<std::size_t>(n));
  if (rank == 2)
    return workload(y, [=] { dnnl::sgemm('N', 'N', m, n, k, 1, a->values.data(), k, b->values.data(), n, 0, y->values.data(), n); });
  const auto stream = std::make_shared<dnnl::stream>(engine);
  const auto ma = over(*a, a->shape, Format::abc), mb = over(*b, b->shape, Format::abc), my = over(*y, y->shape, Format::abc);
  const dnnl::matmul product({{ma.get_desc(), mb.get_desc(), my.get_desc()}, engine});
  return workload(y, [=] {
    (void)a, (void)b;
    product.execute(*stream, {{DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mb}, {DNNL_ARG_DST, my}});
    stream->wait();
  });
}

// NHWC and HWIO are formats here; the logical order of the axes is NCHW and OIHW.
memory::dims nchw(const memory::dims& s) { return {s[0], s[3], s[1], s[2]}; }
memory::dims oihw(const memory::dims& s) { return {s[3], s[2], s[0], s[1]}; }

using Forward = dnnl::convolution_forward;
using ToInput = dnnl::convolution_backward_data;
using ToFilter = dnnl::convolution_backward_weights;
constexpr auto direct = dnnl::algorithm::convolution_direct;
const memory::dims one = {1, 1};

Forward::primitive_desc forward_of(const memory::desc& x, const memory::desc& w, const memory::desc& y) {
  return {{dnnl::prop_kind::forward_training, direct, x, w, y, one, one, one}, engine};
}

// Either the filters come from the user and are brought to `inner`, or they are computed there and brought back.
Workload convolution(const std::string& way, const std::vector<std::shared_ptr<Array>>& in) {
  const auto x = way == "conv_input" ? in[2] : in[0], w = way == "conv_filter" ? in[2] : in[1];
  const auto dy = way == "conv_input" ? in[0] : way == "conv_filter" ? in[1] : std::make_shared<Array>();
  if (way == "conv") {
    dy->shape = {x->shape[0], x->shape[1], x->shape[2], w->shape[3]};
    dy->values.resize(x->values.size() / static_cast<std::size_t>(x->shape[3]) * static_cast<std::size_t>(w->shape[3]));
  }
  const auto stream = std::make_shared<dnnl::stream>(engine);
  const memory mx = over(*x, nchw(x->shape), Format::nhwc), my = over(*dy, nchw(dy->shape), Format::nhwc);
  const memory mw = over(*w, oihw(w->shape), Format::hwio);
  const memory::desc any = describe(oihw(w->shape), Format::any);
  const auto forward = forward_of(mx.get_desc(), any, my.get_desc());
  const auto own = std::vector<std::shared_ptr<Array>>{x, w, dy};  // the memories above only point

  if (way == "conv_filter") {
    const ToFilter::primitive_desc pd({direct, mx.get_desc(), any, my.get_desc(), one, one, one}, engine, forward);
    const memory inner(pd.diff_weights_desc(), engine);
    const dnnl::reorder back(inner, mw);
    return workload(w, [=, primitive = ToFilter(pd)] {
      (void)own;
      primitive.execute(*stream, {{DNNL_ARG_SRC, mx}, {DNNL_ARG_DIFF_DST, my}, {DNNL_ARG_DIFF_WEIGHTS, inner}});
      back.execute(*stream, {{DNNL_ARG_FROM, inner}, {DNNL_ARG_TO, mw}});
      stream->wait();
    });
  }
  if (way == "conv_input") {
    const ToInput::primitive_desc pd({direct, mx.get_desc(), any, my.get_desc(), one, one, one}, engine, forward);
    const memory inner(pd.weights_desc(), engine);
    const dnnl::reorder there(mw, inner);
    return workload(x, [=, primitive = ToInput(pd)] {
      (void)own;
      there.execute(*stream, {{DNNL_ARG_FROM, mw}, {DNNL_ARG_TO, inner}});
      primitive.execute(*stream, {{DNNL_ARG_DIFF_DST, my}, {DNNL_ARG_WEIGHTS, inner}, {DNNL_ARG_DIFF_SRC, mx}});
      stream->wait();
    });
  }
  const memory inner(forward.weights_desc(), engine);
  const dnnl::reorder there(mw, inner);
  return workload(dy, [=, primitive = Forward(forward)] {
    (void)own;
    there.execute(*stream, {{DNNL_ARG_FROM, mw}, {DNNL_ARG_TO, inner}});
    primitive.execute(*stream, {{DNNL_ARG_SRC, mx}, {DNNL_ARG_WEIGHTS, inner}, {DNNL_ARG_DST, my}});
    stream->wait();
  });
}

Workload make(const std::string& op, const std::vector<std::string>& words) {
  if (op == "start") return bench::start_this_program();
  if (op != "matmul" && op != "conv" && op != "conv_input" && op != "conv_filter") throw std::runtime_error("there is no workload " + op);
  std::vector<std::shared_ptr<Array>> x;
  for (const Input& input : bench::parse_inputs(words)) {
    const unsigned seed = static_cast<unsigned>(x.size()) + 1;
    x.push_back(std::make_shared<Array>(Array{input.floats(seed), input.shape}));
  }
  return op == "matmul" ? matmul(x) : convolution(op, x);
}

}  // namespace

int main(int argc, char** argv) {
  // Newer instruction sets than these made this version crash on some virtual machines.
  dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16);
  const dnnl_version_t* v = dnnl_version();
  return bench::serve(argc, argv, std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch), make);
}
