import type { ReactNode } from "react";
import type { Missing } from "../api/wire";
import { figure } from "../text/format";
import { Hidden, MissingNote, NotInstalled } from "./missing";
import { PageQuery } from "./page-query";
import { SearchLine } from "./search-line";
import { Notice } from "./trouble";

interface List<Row> {
  readonly installed: boolean;
  readonly rows: readonly Row[];
  readonly more: number;
  readonly missing: readonly Missing[];
}

interface Props<Row> {
  readonly title: string;
  readonly topic: string;
  readonly q: string;
  readonly search: (q: string) => void;
  readonly absent: string; // what to say if the cluster does not have the kind
  readonly empty: ReactNode; // how to make the first one
  readonly hint?: string; // what can be searched for
  readonly children: (rows: readonly Row[]) => ReactNode;
}

/** A searchable list of one kind, with all states that a list has. */
export function ListPage<Row>({ title, topic, q, search, absent, empty, hint, children }: Props<Row>) {
  return (
    <>
      <div className="head">
        <h1>{title}</h1>
      </div>
      <SearchLine value={q} hint={hint ?? `Name, in ${title.toLowerCase()}`} change={search} />
      <PageQuery<List<Row>> topic={topic} path={`/api/v1/${topic}?${new URLSearchParams({ q }).toString()}`}>
        {({ installed, rows, more, missing }) =>
          !installed ? (
            <NotInstalled title={`${title} are not installed.`}>{absent}</NotInstalled>
          ) : rows.length === 0 ? (
            <div className="card">
              {q !== "" ? (
                <>
                  <Notice icon="info" title="Nothing has this in its name." />
                  <MissingNote missing={missing} />
                </>
              ) : missing.length > 0 ? (
                <Hidden missing={missing} what={title} />
              ) : (
                <Notice icon="info" title={`There are no ${title.toLowerCase()} that you may see.`}>
                  {empty}
                </Notice>
              )}
            </div>
          ) : (
            <section className="card">
              {children(rows)}
              <footer className="tablefoot">
                <span>
                  {figure(rows.length)} shown{more > 0 ? `; ${figure(more)} more are not listed, search for them` : ""}
                </span>
              </footer>
              <MissingNote missing={missing} />
            </section>
          )
        }
      </PageQuery>
    </>
  );
}
