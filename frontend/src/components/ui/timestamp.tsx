// An instant as "3 m ago", in full on hover and for screen readers.
import { formatAbsolute, formatRelative } from "@/lib/format/times";
import { useNow } from "@/lib/hooks/use-now";

export function Timestamp({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <span>—</span>;
  return (
    <time className="number" dateTime={at} title={formatAbsolute(at)}>
      {formatRelative(at, now)}
    </time>
  );
}
