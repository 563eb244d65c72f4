import { Alert, Button, Group, Tabs, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useParams, useSearchParams } from 'react-router';
import { useAccount } from '../app/account';
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

export default function NumberPage() {
  const { number = '' } = useParams();
  return <QueryView query={useInstance(number)}>{(instance) => <Content instance={instance} />}</QueryView>;
}

function Content({ instance }: { instance: Instance }) {
  const { t } = useTranslation();
  const { can, path } = useAccount();
  const [search, setSearch] = useSearchParams();
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
        value={search.get('tab') ?? 'health'}
        onChange={(tab) => setSearch(tab === null ? {} : { tab }, { replace: true })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="health">{t('number.tabs.health')}</Tabs.Tab>
          <Tabs.Tab value="availability">{t('number.tabs.availability')}</Tabs.Tab>
          <Tabs.Tab value="policy">{t('number.tabs.policy')}</Tabs.Tab>
          {can('messages:send') && <Tabs.Tab value="try">{t('number.tabs.try')}</Tabs.Tab>}
          {can('instances:write') && <Tabs.Tab value="settings">{t('number.tabs.settings')}</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value="health">
          <Health instanceId={instance.id} />
        </Tabs.Panel>
        <Tabs.Panel value="availability">
          <Availability instanceId={instance.id} />
        </Tabs.Panel>
        <Tabs.Panel value="policy">
          <NumberPolicy instanceId={instance.id} />
        </Tabs.Panel>
        <Tabs.Panel value="try">
          <TryNumber instance={instance} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <NumberSettings instance={instance} />
        </Tabs.Panel>
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
