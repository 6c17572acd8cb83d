import { Link } from "@tanstack/react-router";

/** A job by namespace and name, as a link to its page. */
export function JobLink({ row }: { row: { readonly namespace: string; readonly kind: string; readonly name: string } }) {
  return (
    <>
      <span className="dimmer">{row.namespace} / </span>
      <Link to="/jobs/$namespace/$kind/$name" params={{ namespace: row.namespace, kind: row.kind.toLowerCase(), name: row.name }}>
        {row.name}
      </Link>
    </>
  );
}
