import type { NodeRow } from "../api/wire";
import { figure, gpuWords } from "../text/format";
import { cells } from "../text/gpus";

/** The GPUs of a node: a cell for each, and the same in words. */
export function GpuCells({ node }: { node: NodeRow }) {
  const { total, free } = node.gpus;
  if (total === 0) return <span className="dim">–</span>;
  const words = free === null ? `${gpuWords(total)}, free not known` : free === 0 ? `${gpuWords(total)}, none free` : `${figure(free)} of ${figure(total)} free`;
  return (
    <span className="cells">
      <span className="cellrow" aria-hidden="true">
        {cells(node).map(({ tone, words: title }, index) => (
          <i key={index} className={`cell cell-${tone}`} title={title} />
        ))}
      </span>
      <span className="dim small">{words}</span>
    </span>
  );
}

export function GpuLegend() {
  return (
    <div className="legend">
      <span><i className="key cell-busy" />held</span>
      <span><i className="key cell-others" />held by pods that you may not see</span>
      <span><i className="key cell-free" />free</span>
      <span><i className="key cell-closed" />on a node that takes no pods</span>
      <span>Cells are in the order of pods; which device a pod has is not known.</span>
    </div>
  );
}
