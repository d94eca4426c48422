// Webhooks: where alerts are told, how the last delivery went, secrets that are shown once, and tests.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleCheck, CircleDashed, CircleX, Hourglass } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/layout";
import { announce } from "@/components/ui/notices";
import { PlainTable } from "@/components/ui/plain-table";
import { Empty } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import { problemOf } from "@/lib/api/problem";
import type { Delivery, Webhook } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { useUrl } from "@/lib/hooks/use-url";
import { refusalFor } from "@/lib/permissions";

import { deleteWebhook, deliveriesQuery, replaceSecret, suspendWebhook, testWebhook, webhooksQuery } from "../api/alerts";
import { NewWebhook, type OnSecret, Secret } from "./new-webhook";
import styles from "./needs-attention.module.css";
import own from "./webhooks-view.module.css";

const STATES = {
  Waiting: { icon: CircleDashed, look: styles.faint },
  Sending: { icon: CircleDashed, look: styles.faint },
  Retrying: { icon: Hourglass, look: own.wait },
  Delivered: { icon: CircleCheck, look: styles.good },
  Failed: { icon: CircleX, look: styles.bad },
};

export function WebhooksView() {
  const webhooks = useQuery(webhooksQuery);
  const refusal = refusalFor(useIdentity(), { on: "installation" });
  const [creating, setCreating] = useState(false);
  const [secret, setSecret] = useState<{ name: string; secret: string } | null>(null);
  return (
    <>
      <View query={webhooks} rows={3}>
        {({ items }) => (
          <Card
            title="Webhooks"
            aside={
              <Button refusal={refusal} onClick={() => setCreating(true)}>
                New webhook
              </Button>
            }
          >
            {items.length === 0 ? (
              <Empty title="No webhooks">A webhook is told by signed notifications when alerts open, change and are resolved.</Empty>
            ) : (
              <ul className={own.webhooks} aria-label="Webhooks">
                {items.map((webhook) => (
                  <WebhookRow key={webhook.metadata.name} webhook={webhook} refusal={refusal} onSecret={setSecret} />
                ))}
              </ul>
            )}
          </Card>
        )}
      </View>
      {creating && <NewWebhook onClose={() => setCreating(false)} onSecret={setSecret} />}
      {secret !== null && <Secret {...secret} onClose={() => setSecret(null)} />}
    </>
  );
}

function WebhookRow({ webhook, refusal, onSecret }: { webhook: Webhook; refusal: string | undefined; onSecret: OnSecret }) {
  const url = useUrl();
  const client = useQueryClient();
  const name = webhook.metadata.name;
  const open = url.get("webhook") === name;
  const suspended = webhook.spec.suspend === true;
  const act = async (done: string, run: () => Promise<unknown>) => {
    try {
      await run();
      announce(done);
    } catch (error) {
      announce(problemOf(error).detail, "bad");
    }
    await client.invalidateQueries({ queryKey: ["webhooks"] });
  };
  return (
    <li>
      <div className={own.row}>
        <Button look="quiet" className={own.name} aria-expanded={open} onClick={() => url.change({ webhook: open ? "" : name }, "replace")}>
          {name}
        </Button>
        <span className={own.address} title={webhook.spec.url}>
          {webhook.spec.url}
        </span>
        <span className={own.standing}>{suspended ? "Suspended" : <LastDelivery webhook={webhook} />}</span>
        <span className={own.actions}>
          <Button refusal={refusal} aria-label={`Test ${name}`} onClick={() => void act(`Test of ${name} queued`, () => testWebhook(name))}>
            Test
          </Button>
          <Button
            refusal={refusal}
            aria-label={`New secret of ${name}`}
            onClick={() => void act(`New secret of ${name}`, async () => onSecret({ name, secret: await replaceSecret(name) }))}
          >
            New secret
          </Button>
          <Button
            refusal={refusal}
            aria-label={`${suspended ? "Resume" : "Suspend"} ${name}`}
            onClick={() => void act(`${name} ${suspended ? "resumed" : "suspended"}`, () => suspendWebhook(webhook, !suspended))}
          >
            {suspended ? "Resume" : "Suspend"}
          </Button>
          <Button look="danger" refusal={refusal} aria-label={`Delete ${name}`} onClick={() => void act(`${name} deleted`, () => deleteWebhook(name))}>
            Delete
          </Button>
        </span>
      </div>
      {open && <Deliveries name={name} />}
    </li>
  );
}

function LastDelivery({ webhook: { status } }: { webhook: Webhook }) {
  if (!status?.lastDeliveryTime) return <span className={styles.faint}>Nothing sent yet</span>;
  if (status.isDelivered === true)
    return (
      <span className={styles.good}>
        Delivered <Timestamp at={status.lastDeliveryTime} />
      </span>
    );
  return (
    <span className={styles.bad}>
      {status.failure}, <Timestamp at={status.lastDeliveryTime} />
    </span>
  );
}

const HEADS = ["State", "Notification", { words: "Queued", figure: true as const }, { words: "Deliveries", figure: true as const }, "Result"];

function Deliveries({ name }: { name: string }) {
  const deliveries = useQuery(deliveriesQuery(name));
  return (
    <View query={deliveries} rows={2} empty={({ items }) => (items.length === 0 ? <Empty title="Nothing sent yet">Test the webhook to send a first notification.</Empty> : undefined)}>
      {({ items, hasSecret }) => (
        <>
          {!hasSecret && <p className={own.hint}>The webhook has no secret. Make one, and give it to the receiver.</p>}
          <PlainTable label={`Deliveries of ${name}`} heads={HEADS}>
            {items.map((delivery) => (
              <DeliveryRow key={delivery.id} delivery={delivery} />
            ))}
          </PlainTable>
        </>
      )}
    </View>
  );
}

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { icon: Icon, look } = STATES[delivery.state];
  return (
    <tr>
      <td>
        <span className={`${own.state ?? ""} ${look ?? ""}`}>
          <Icon aria-hidden="true" />
          {delivery.state}
        </span>
      </td>
      <td>{delivery.change === "Test" ? "Test" : `${delivery.change}: ${delivery.title}`}</td>
      <td data-figure>
        <Timestamp at={delivery.queuedAt} />
      </td>
      <td data-figure>{delivery.deliveries}</td>
      <td>
        {resultWords(delivery)}
        {delivery.retryAt && (
          <>
            , next <Timestamp at={delivery.retryAt} />
          </>
        )}
      </td>
    </tr>
  );
}

function resultWords({ failure, statusCode, milliseconds, state }: Delivery): string {
  if (failure) return failure;
  return state === "Delivered" ? `Status ${statusCode ?? ""} in ${milliseconds ?? 0} ms` : "—";
}
