// The views of the grid: those built in, one's own, and those that others share; what is shown is saved as one.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Bookmark, BookmarkCheck, Users } from "lucide-react";
import { type SubmitEvent, useState } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import { Menu } from "@/components/ui/menu";
import { Modal } from "@/components/ui/modal";
import { announce } from "@/components/ui/notices";
import { RouterLink } from "@/components/ui/router-link";
import { ProblemWords } from "@/components/ui/states";
import { problemOf } from "@/lib/api/problem";
import type { SavedView } from "@/lib/api/types";

import { deleteView, savedViewsQuery, saveView } from "../api/saved-views";
import { type Grid, gridOf, isShown, queryOf, VIEWS, viewChange } from "../model/grid";
import styles from "./workloads-page.module.css";

const MAX_NAME = 60;

export function GridViews({ grid }: { grid: Grid }) {
  const saved = useQuery(savedViewsQuery);
  const views = saved.data ?? [];
  const query = queryOf(grid);
  const shown = views.filter((view) => queryOf(gridOf(view.query)) === query);
  const own = shown.find((view) => view.isMine);
  const isBuiltIn = VIEWS.some((view) => isShown(view, grid)) && query === queryOf({ ...grid, columns: gridOf("").columns });
  return (
    <>
      <nav className={styles.views} aria-label="Views">
        {VIEWS.map((view) => (
          <RouterLink key={view.name} className={styles.view} to={addressOf(viewChange(view))} aria-current={isBuiltIn && isShown(view, grid) ? "true" : undefined}>
            {view.name}
          </RouterLink>
        ))}
        {views.map((view) => (
          <RouterLink
            key={`${view.owner}/${view.name}`}
            className={styles.view}
            to={view.query === "" ? "/workloads" : `/workloads?${view.query}`}
            aria-current={shown.includes(view) ? "true" : undefined}
          >
            {view.isShared && <Users aria-label={view.isMine ? "Shared with all users" : `Shared by ${view.owner}`} role="img" />}
            {view.name}
          </RouterLink>
        ))}
      </nav>
      {own !== undefined ? <OwnView view={own} /> : !isBuiltIn && <NewView query={query} views={views} />}
    </>
  );
}

/** Saves what is shown under a name. */
function NewView({ query, views }: { query: string; views: SavedView[] }) {
  const [naming, setNaming] = useState(false);
  return (
    <>
      <Button look="quiet" shape="icon" hint="Save view" aria-label="Save view" onClick={() => setNaming(true)}>
        <Bookmark aria-hidden="true" />
      </Button>
      {naming && <NamingDialog query={query} views={views} onClose={() => setNaming(false)} />}
    </>
  );
}

function NamingDialog({ query, views, onClose }: { query: string; views: SavedView[]; onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [isShared, setShared] = useState(false);
  const wanted = name.trim();
  const replaces = views.some((view) => view.isMine && view.name === wanted);
  const saving = useMutation({
    mutationFn: () => saveView({ name: wanted, query, isShared }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: savedViewsQuery.queryKey });
      announce(`View ${wanted} saved`);
      onClose();
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (refusalOf(wanted, saving.isPending) === undefined) saving.mutate();
  };
  return (
    <Modal open title="Save view" words="Keeps filter, order, groups and columns of the list." onClose={onClose}>
      <form className={styles.naming} onSubmit={submit}>
        <TextField label="Name" value={name} maxLength={MAX_NAME} autoFocus onChange={(event) => setName(event.target.value)} />
        <label className={styles.sharing}>
          <input type="checkbox" checked={isShared} onChange={(event) => setShared(event.target.checked)} />
          Share with all users
        </label>
        {replaces && <p role="status">Replaces your view of this name.</p>}
        {saving.isError && <ProblemWords problem={problemOf(saving.error)} />}
        <div className={styles.foot}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" refusal={refusalOf(wanted, saving.isPending)}>
            Save view
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function refusalOf(name: string, isSaving: boolean): string | undefined {
  if (isSaving) return "In progress…";
  if (name === "") return "Enter a name";
  return name.includes("/") ? "A name has no slash" : undefined;
}

/** What can be done with one's own view that is shown. */
function OwnView({ view }: { view: SavedView }) {
  const client = useQueryClient();
  const doing = useMutation({
    mutationFn: (does: () => Promise<unknown>) => does(),
    onSuccess: () => client.invalidateQueries({ queryKey: savedViewsQuery.queryKey }),
    onError: (error) => announce(problemOf(error).detail, "bad"),
  });
  return (
    <Menu
      heading={view.name}
      trigger={
        <Button look="quiet" shape="icon" hint="Saved view" aria-label="Saved view">
          <BookmarkCheck aria-hidden="true" />
        </Button>
      }
      items={[
        { key: "share", words: "Share with all users", checked: view.isShared, onSelect: () => doing.mutate(() => saveView({ ...view, isShared: !view.isShared })) },
        { key: "delete", words: "Delete view", onSelect: () => doing.mutate(() => deleteView(view.name)) },
      ]}
    />
  );
}

function addressOf(changes: Record<string, string>): string {
  const query = new URLSearchParams(Object.entries(changes).filter(([, value]) => value !== "")).toString();
  return query === "" ? "/workloads" : `/workloads?${query}`;
}
