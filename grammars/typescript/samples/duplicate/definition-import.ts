import {
  load,
  store,
  load,
} from "./store";
