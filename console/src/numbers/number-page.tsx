import { Alert, Button, Group, Tabs, Text } from '@mantine/core';
import type { ComponentType } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useParams, useSearchParams } from 'react-router';
import { useAccount } from '../app/account';
import type { Right } from '../session/session';
import { CopyText } from '../ui/copy-text';
import { PageHeader } from '../ui/page-header';
import { QueryView } from '../ui/query-view';
import { Time } from '../ui/time';
import { Availability } from './availability';
import { Health } from './health';
import { NumberPolicy } from './number-policy';
import { NumberSettings } from './number-settings';
import { readPhone, useInstance, type Instance } from './queries';
import { StateBadge } from './state-badge';
import { TryNumber } from './try-number';

interface Tab {
  value: 'health' | 'availability' | 'policy' | 'try' | 'settings';
  /** The tab is offered to members with this right. */
  right: Right;
  Panel: ComponentType<{ instance: Instance }>;
}

const TABS: readonly Tab[] = [
  { value: 'health', right: 'instances:read', Panel: Health },
  { value: 'availability', right: 'instances:read', Panel: Availability },
  { value: 'policy', right: 'instances:read', Panel: NumberPolicy },
  { value: 'try', right: 'messages:send', Panel: TryNumber },
  { value: 'settings', right: 'instances:write', Panel: NumberSettings },
];

export default function NumberPage() {
  const { t } = useTranslation();
  const { path } = useAccount();
  const { number = '' } = useParams();
  const header = (
    <PageHeader title={t('common.number')} back={{ to: path('numbers'), label: t('numbers.title') }} />
  );
  return (
    <QueryView query={useInstance(number)} header={header}>
      {(instance) => <Content instance={instance} />}
    </QueryView>
  );
}

function Content({ instance }: { instance: Instance }) {
  const { t } = useTranslation();
  const { can, path } = useAccount();
  const [search, setSearch] = useSearchParams();
  const tabs = TABS.filter(({ right }) => can(right));
  const mayPair = can('instances:write') && PAIRABLE.has(instance.state);
  const subtitle = [readPhone(instance), instance.business_name].filter((text) => text !== null).join(' · ');
  return (
    <>
      <PageHeader
        title={instance.name}
        subtitle={subtitle || t('numbers.notPaired')}
        back={{ to: path('numbers'), label: t('numbers.title') }}
      >
        {mayPair && (
          <Button component={Link} to={path(`numbers/${instance.id}/pairing`)}>
            {t('number.pair')}
          </Button>
        )}
      </PageHeader>
      <Group mb="md" gap="sm">
        <StateBadge state={instance.state} />
        <Text size="sm" c="dimmed">
          <Time value={instance.state_changed_at} />
        </Text>
        <CopyText text={instance.id} />
      </Group>
      <StateHelp instance={instance} />
      <Tabs
        value={(tabs.find(({ value }) => value === search.get('tab')) ?? tabs[0])?.value ?? null}
        onChange={(tab) => setSearch(tab === null ? {} : { tab }, { replace: true })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          {tabs.map(({ value }) => (
            <Tabs.Tab key={value} value={value}>
              {t(`number.tabs.${value}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {tabs.map(({ value, Panel }) => (
          <Tabs.Panel key={value} value={value}>
            <Panel instance={instance} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}

const PAIRABLE: ReadonlySet<string> = new Set(['pending_pair', 'logged_out']);

/** Advice for the states that need a person. */
function StateHelp({ instance: { state } }: { instance: Instance }) {
  const { t } = useTranslation();
  if (state === 'connected' || state === 'connecting') return null;
  const color = state === 'pending_pair' ? 'blue' : state === 'disconnected' ? 'orange' : 'red';
  return (
    <Alert color={color} mb="md">
      {t(`number.help.${state}`)}
    </Alert>
  );
}
