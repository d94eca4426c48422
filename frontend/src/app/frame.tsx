// The frame of every page: navigation, freshness of the data, and the signed-in user.
import { useQuery } from "@tanstack/react-query";
import { Outlet, useRouter, useRouterState } from "@tanstack/react-router";
import { History as HistoryIcon, Menu as MenuIcon, Plus, Search } from "lucide-react";
import { useEffect, useEffectEvent, useRef, useState } from "react";

import { Button } from "@/components/ui/button";
import { RouterLink } from "@/components/ui/router-link";
import { Notices } from "@/components/ui/notices";
import { causesQuery } from "@/lib/api/attention";
import { type Hotkeys, useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useKeptRange } from "@/lib/hooks/use-time-range";
import { useIdentity } from "@/lib/hooks/use-session";

import { openActionMenu } from "./action-menu";
import { FreshnessBadge } from "./freshness-badge";
import { HelpDialog } from "./help-dialog";
import { ATTENTION, DESTINATIONS, type Destination, firstPages, isFolded, isHere } from "./navigation";
import { Palette } from "./palette";
import { PastBar } from "./past-bar";
import { PersonMenu } from "./person-menu";
import styles from "./frame.module.css";
import { startPage, startPath } from "./start-page";
import { TimeRangePicker } from "./time-range-picker";
import { useShownMoment } from "./use-shown-moment";

export function Frame() {
  const { history } = useRouter();
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const [navigation, setNavigation] = useState(false);
  const [past, setPast] = useState(false);
  const moment = useShownMoment();
  useKeptRange();
  useStartPage();
  const pages: Hotkeys = Object.fromEntries(DESTINATIONS.map(({ key, path }) => [`g ${key}`, () => history.push(path)]));
  useHotkeys({ ...pages, "?": () => setHelp(true), ".": openActionMenu, "[": () => setPast(true), "Ctrl+k": () => setPalette((open) => !open) });
  return (
    <div className={styles.frame}>
      <a className={styles.skip} href="#content">
        Skip to main content
      </a>
      <header className={styles.top}>
        <RouterLink to="/" className={styles.brand} aria-label="Headgate home">
          <Mark />
          <span>Headgate</span>
        </RouterLink>
        <button type="button" className={styles.search} onClick={() => setPalette(true)}>
          <Search aria-hidden="true" />
          <span className={styles.searchWords}>Search workloads, queues and pages</span>
          <kbd>Ctrl K</kbd>
        </button>
        <RouterLink to="/submit" className={styles.submit} aria-label="Submit a workload">
          <Plus aria-hidden="true" />
          <span>Submit</span>
        </RouterLink>
        <span className={styles.grow} />
        <TimeRangePicker />
        <Button look="quiet" shape="icon" aria-label="Time travel" hint="Time travel" aria-expanded={past || moment !== ""} onClick={() => setPast(!past)}>
          <HistoryIcon aria-hidden="true" />
        </Button>
        <FreshnessBadge />
        <PersonMenu onHelp={() => setHelp(true)} />
      </header>
      {(past || moment !== "") && <PastBar onClose={() => setPast(false)} />}
      <Sidebar open={navigation} onGone={() => setNavigation(false)} />
      <main id="content" className={styles.main} tabIndex={-1} data-past={moment !== "" || undefined}>
        <Outlet key={moment === "" ? "now" : "past"} />
      </main>
      <BottomBar open={navigation} onMore={() => setNavigation(!navigation)} onGone={() => setNavigation(false)} />
      {palette && <Palette onClose={() => setPalette(false)} />}
      <HelpDialog open={help} onClose={() => setHelp(false)} />
      <Notices />
    </div>
  );
}

/** Opens the start page where Headgate was opened without naming a page. */
function useStartPage(): void {
  const { history } = useRouter();
  const start = startPage(useIdentity());
  // Once: the overview is a page like all others after that.
  const isSettled = useRef(!isUnnamed(history.location));
  const open = useEffectEvent((path: string) => {
    if (!isSettled.current && isUnnamed(history.location) && path !== "/") history.replace(path);
    isSettled.current = true;
  });
  useEffect(() => {
    if (start !== undefined) open(startPath(start));
  }, [start]);
}

function isUnnamed({ pathname, search }: { pathname: string; search: string }): boolean {
  return pathname === "/" && search === "";
}

function Sidebar({ open, onGone }: { open: boolean; onGone: () => void }) {
  const identity = useIdentity();
  const folded = DESTINATIONS.filter((page) => isFolded(page, identity));
  const groups = [...new Set(DESTINATIONS.map(({ group }) => group))];
  return (
    <nav className={`${styles.side ?? ""} ${open ? (styles.sideOpen ?? "") : ""}`} aria-label="Pages">
      <div className={styles.groups}>
        {groups.map((group) => (
          <ul key={group} aria-label={group}>
            {DESTINATIONS.filter((page) => page.group === group && !folded.includes(page)).map((page) => (
              <PageLink key={page.path} page={page} onGone={onGone} />
            ))}
          </ul>
        ))}
        {folded.length > 0 && (
          <details className={styles.more}>
            <summary>More</summary>
            <ul>
              {folded.map((page) => (
                <PageLink key={page.path} page={page} onGone={onGone} />
              ))}
            </ul>
          </details>
        )}
      </div>
    </nav>
  );
}

/** The pages at hand on a phone; all others come with the sidebar. */
function BottomBar({ open, onMore, onGone }: { open: boolean; onMore: () => void; onGone: () => void }) {
  const pages = firstPages(startPath(startPage(useIdentity())));
  return (
    <nav className={styles.bottom} aria-label="Main">
      <ul>
        {pages.map((page) => (
          <PageLink key={page.path} page={page} onGone={onGone} />
        ))}
        <li>
          <button type="button" className={styles.destination} aria-expanded={open} onClick={onMore}>
            <MenuIcon aria-hidden="true" />
            More
          </button>
        </li>
      </ul>
    </nav>
  );
}

/** How many causes are open that are no mere information. */
function AttentionCount() {
  const causes = useQuery(causesQuery).data?.causes ?? [];
  const open = causes.filter(({ severity, state }) => severity !== "info" && state === "Open").length;
  return open === 0 ? null : <span className={styles.count}>{open}</span>;
}

function PageLink({ page, onGone }: { page: Destination; onGone: () => void }) {
  const { pathname, searchStr } = useRouterState({ select: (state) => state.location });
  return (
    <li>
      <RouterLink to={page.path} className={styles.destination} aria-current={isHere(page, pathname, searchStr) ? "page" : undefined} onClick={onGone}>
        <page.icon aria-hidden="true" />
        {page.words}
        {page.path === ATTENTION && <AttentionCount />}
        <span className={styles.keys} aria-hidden="true">
          <kbd>g</kbd> <kbd>{page.key}</kbd>
        </span>
      </RouterLink>
    </li>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" className={styles.mark} aria-hidden="true">
      <path d="M7 6v20M25 6v20" className={styles.posts} />
      <rect x="11" y="8" width="10" height="7" rx="1.500" className={styles.gate} />
      <path d="M11 20c1.700-1.700 3.300-1.700 5 0s3.300 1.700 5 0M11 25c1.700-1.700 3.300-1.700 5 0s3.300 1.700 5 0" className={styles.water} />
    </svg>
  );
}
