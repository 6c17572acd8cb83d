/** Rows of their real height, which appear only if the answer takes long. */
export function Skeleton({ rows = 8 }: { rows?: number }) {
  return (
    <div className="skeleton" aria-label="Loading" role="status">
      {Array.from({ length: rows }, (_, index) => (
        <i key={index} />
      ))}
    </div>
  );
}
