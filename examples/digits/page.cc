#include "page.h"

#include <algorithm>
#include <cmath>

#include "curve.h"
#include "sheet.h"

using namespace weft;

namespace {

constexpr std::string_view kStyle = R"(
  :root { --paper: #fbfaf7; --card: #fff; --text: #1c2233; --soft: #6d7487; --line: #e4e2db; --blue: #2b5fd9; --red: #d2382c; --green: #1d8a5b; }
  * { box-sizing: border-box; }
  body { margin: 0; background: var(--paper); color: var(--text); font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
  main { max-width: 1080px; margin: 0 auto; padding: 40px 24px 64px; }
  h1 { font-size: 34px; line-height: 1.15; margin: 0 0 6px; letter-spacing: -0.01em; }
  h2 { font-size: 20px; margin: 44px 0 4px; }
  p { margin: 0 0 14px; color: var(--soft); max-width: 46em; }
  .figures { display: flex; flex-wrap: wrap; gap: 14px; margin: 24px 0 0; }
  .figures div { flex: 1 1 190px; background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 18px; }
  .figures b { display: block; font-size: 30px; line-height: 1.2; font-variant-numeric: tabular-nums; }
  .figures span { color: var(--soft); font-size: 14px; }
  .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px; overflow-x: auto; }
  svg { display: block; width: 100%; height: auto; font: 12px system-ui, "DejaVu Sans", sans-serif; }
  .digits { display: grid; grid-template-columns: repeat(12, minmax(64px, 1fr)); gap: 8px; }
  .digits div { text-align: center; font-size: 12px; line-height: 1.35; font-variant-numeric: tabular-nums; color: var(--soft); }
  .digits b { color: var(--green); font-size: 15px; }
  .digits .wrong b { color: var(--red); }
  .digits i { display: block; width: 56px; height: 56px; margin: 0 auto 2px; border-radius: 6px; border: 1px solid var(--line); background-origin: border-box; }
  .digits .wrong i { border-color: var(--red); box-shadow: 0 0 0 1px var(--red); }
  table { border-collapse: separate; border-spacing: 3px; font-variant-numeric: tabular-nums; margin: 0 auto; }
  th { color: var(--soft); font-weight: 600; font-size: 14px; padding: 2px 6px; }
  td { width: 56px; height: 34px; text-align: center; border-radius: 5px; font-size: 14px; }
  footer { margin-top: 48px; color: var(--soft); font-size: 14px; }
)";

std::string with_commas(std::size_t number) {
  std::string digits = format("{}", number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

std::string figure(const std::string& value, std::string_view what) { return format("<div><b>{}</b><span>{}</span></div>\n", value, what); }

/// One digit with what the net says about it.
std::string tile(const Results& results, const Sheet& sheet, std::size_t place, int image) {
  const int label = results.labels[image], prediction = results.predictions[image];
  const std::string percent = format("{:.0f} %", results.confidence[image] * 100);
  const std::string said = label == prediction ? format("<b>{}</b>", prediction) : format("{} as <b>{}</b>", label, prediction);
  return format("<div{}><i style=\"{}\"></i>{}<br/>{}</div>\n", label == prediction ? "" : " class=\"wrong\"", sheet.style(place), said, percent);
}

std::string tiles(const Results& results, const Sheet& sheet, const std::vector<int>& all, std::size_t from, std::size_t to) {
  std::string out = "<div class=\"card\"><div class=\"digits\">\n";
  for (std::size_t i = from; i < to; ++i) out += tile(results, sheet, i, all[i]);
  return out + "</div></div>\n";
}

std::string confusion_table(const Tensor& confusion) {
  const std::vector<int> counts = confusion.to_vector<int>();
  int most_mistakes = 1;
  for (int i = 0; i < kDigits * kDigits; ++i) {
    if (i / kDigits != i % kDigits) most_mistakes = std::max(most_mistakes, counts[i]);
  }
  std::string out = "<div class=\"card\"><table>\n<tr><th>is \\ read as</th>";
  for (int p = 0; p < kDigits; ++p) out += format("<th>{}</th>", p);
  out += "<th>right</th></tr>\n";
  for (int label = 0; label < kDigits; ++label) {
    const int* row = counts.data() + label * kDigits;
    int sum = 0;
    for (int p = 0; p < kDigits; ++p) sum += row[p];
    out += format("<tr><th>{}</th>", label);
    for (int p = 0; p < kDigits; ++p) {
      const double share = label == p ? double(row[p]) / std::max(sum, 1) : std::sqrt(double(row[p]) / most_mistakes);
      const std::string colour = row[p] == 0   ? std::string("background:#f6f5f1;color:#c9c6bc")
                                 : label == p ? format("background:rgba(29,138,91,{:.2f})", 0.12 + 0.3 * share)
                                              : format("background:rgba(210,56,44,{:.2f})", 0.1 + 0.5 * share);
      out += format("<td style=\"{}\">{}</td>", colour, row[p]);
    }
    out += format("<th>{:.1f} %</th></tr>\n", sum > 0 ? 100.0 * row[label] / sum : 0.0);
  }
  return out + "</table></div>\n";
}

}  // namespace

std::string html_page(const Results& results) {
  // Some of each digit in a row, then mistakes, the surest first.
  std::vector<int> shown, wrong;  // places in the test
  for (int digit = 0; digit < kDigits; ++digit) {
    int found = 0;
    for (int i = 0; i < static_cast<int>(results.labels.size()) && found < 12; ++i) {
      if (results.labels[i] == digit) shown.push_back(i), ++found;
    }
  }
  for (int i = 0; i < static_cast<int>(results.labels.size()); ++i) {
    if (results.labels[i] != results.predictions[i]) wrong.push_back(i);
  }
  std::stable_sort(wrong.begin(), wrong.end(), [&](int a, int b) { return results.confidence[a] > results.confidence[b]; });
  const std::size_t mistakes = wrong.size(), right = shown.size();
  wrong.resize(std::min<std::size_t>(mistakes, 48));
  shown.insert(shown.end(), wrong.begin(), wrong.end());
  const Sheet sheet(gather(results.images, Tensor(shown)));

  std::string page = "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\"><head><meta charset=\"utf-8\"/>\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>Weft reads digits</title>\n<style>";
  page += kStyle;
  page += sheet.rule(".digits i");
  page += "</style></head><body><main>\n<h1>Weft reads digits</h1>\n";
  page += format("<p>A small convolutional network has learned from {} digits that Weft drew itself. "
                 "This page shows how it does on {} others, which it had never seen.</p>\n", with_commas(results.learned_from), with_commas(results.labels.size()));
  page += "<div class=\"figures\">\n" + figure(format("{:.2f} %", results.accuracy * 100), "of the test digits read rightly") +
          figure(format("{:.1f} %", results.linear_accuracy * 100), "by a linear classifier, at best") +
          figure(format("{:.0f} s", results.seconds), "to train, evaluation included") +
          figure(with_commas(results.parameters), "numbers that it learned") + "</div>\n";

  page += "<h2>How it learned</h2>\n<p>The loss of each step, and the accuracy that a second thread found in snapshots while training went on.</p>\n"
          "<div class=\"card\">" + learning_curve(results) + "</div>\n";
  page += "<h2>What it reads</h2>\n<p>The first test digits of each kind, what the network takes them for, and how sure it is.</p>\n" +
          tiles(results, sheet, shown, 0, right);
  if (mistakes > 0) {
    page += format("<h2>What it gets wrong</h2>\n<p>{}, the surest first. Some would puzzle a person, too.</p>\n",
                   mistakes > wrong.size() ? format("{} of {} mistakes", wrong.size(), mistakes) : format("All {} mistakes", mistakes)) +
            tiles(results, sheet, shown, right, shown.size());
  }
  page += "<h2>What it takes for what</h2>\n<p>Rows are what was drawn, columns what was read.</p>\n" + confusion_table(results.confusion);
  return page + "<footer>The training step, op by op: <a href=\"step.html\">step.html</a>.</footer>\n</main></body></html>\n";
}
